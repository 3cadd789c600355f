import SecretServiceModel

/// The names of the Secret Service (its specification, version 0.2).
enum SecretNames {
    /// The well-known name on the session bus.
    static let bus = "org.freedesktop.secrets"
    /// The service's object.
    static let root = "/org/freedesktop/secrets"

    static let service = "org.freedesktop.Secret.Service"
    static let collection = "org.freedesktop.Secret.Collection"
    static let item = "org.freedesktop.Secret.Item"
    static let session = "org.freedesktop.Secret.Session"
    static let prompt = "org.freedesktop.Secret.Prompt"
    static let properties = "org.freedesktop.DBus.Properties"
    /// The well-known name under which xdg-desktop-portal asks for the secrets of sandboxed programs.
    static let portalBus = "org.freedesktop.impl.portal.desktop.touchstone"
    /// The object of all backends of portals.
    static let portalRoot = "/org/freedesktop/portal/desktop"
    static let portal = "org.freedesktop.impl.portal.Secret"
    static let portalRequest = "org.freedesktop.impl.portal.Request"
    /// The interface of the service's object that lists and ends gestures; not of the specification.
    static let leases = "touchstone.Leases"
    static let introspectable = "org.freedesktop.DBus.Introspectable"

    /// The collection that is there without having been made, by the name that clients know.
    static let defaultCollection = "login"
    /// The alias of the collection for programs that name none; it stands for that one until a client sets it.
    static let defaultAlias = "default"
    /// The collection in the memory of the door.
    static let sessionCollection = "session"
}

/// An object of the service, by its path.
enum SecretObject: Hashable, Sendable {
    case service
    case collection(String)
    case alias(String)
    case item(collection: String, name: String)
    case session(String)
    case prompt(String)

    /// Reads a path; nil for one that can be no object's.
    init?(_ path: String) {
        guard path.hasPrefix(SecretNames.root) else { return nil }
        let rest = path.dropFirst(SecretNames.root.count)
        if rest.isEmpty {
            self = .service
            return
        }
        let parts = rest.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts[0].isEmpty, parts.dropFirst().allSatisfy({ !$0.isEmpty }) else { return nil }
        switch (parts[safe: 1], parts.count) {
        case ("collection", 3): self = .collection(parts[2])
        case ("collection", 4): self = .item(collection: parts[2], name: parts[3])
        case ("aliases", 3): self = .alias(parts[2])
        case ("session", 3): self = .session(parts[2])
        case ("prompt", 3): self = .prompt(parts[2])
        default: return nil
        }
    }

    /// Its path.
    var path: String {
        let rest =
            switch self {
            case .service: ""
            case .collection(let name): "/collection/\(name)"
            case .alias(let name): "/aliases/\(name)"
            case .item(let collection, let name): "/collection/\(collection)/\(name)"
            case .session(let name): "/session/\(name)"
            case .prompt(let name): "/prompt/\(name)"
            }
        return SecretNames.root + rest
    }

    /// The interface of its own methods and properties.
    var interface: String {
        switch self {
        case .service: SecretNames.service
        case .collection, .alias: SecretNames.collection
        case .item: SecretNames.item
        case .session: SecretNames.session
        case .prompt: SecretNames.prompt
        }
    }
}

extension SecretItem {
    /// Its path.
    var path: String { SecretObject.item(collection: collection, name: name).path }
    /// When it was stored, in seconds since 1970.
    var created: UInt64 { UInt64(creation) / 1_000_000 }
    /// When it was changed last, in seconds since 1970.
    var modified: UInt64 { UInt64(modification) / 1_000_000 }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
