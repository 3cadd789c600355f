import Desk
import KeychainModel
import SecretMemory
import TouchstoneTesting

/// A call that needs an application password.
enum PasswordCall: CaseIterable, Sendable {
    /// Seals something new with it.
    case add, replace, protect, makeKey
    /// Opens something with it.
    case read, list, change, useKey

    /// Whether it seals something new.
    var seals: Bool { [.add, .replace, .protect, .makeKey].contains(self) }

    static let sealing = allCases.filter(\.seals)
    static let opening = allCases.filter { !$0.seals }
}

/// A program whose items and keys have application passwords.
struct PasswordCaller: Sendable {
    static let word = "sesame street"

    let world: DeskWorld
    let visit: Visit
    private let key = Guarded<[UInt8]>([])
    private let requests = Guarded<UInt64>(0)

    /// A program of a new keychain.
    init() async throws {
        world = try DeskWorld()
        try await world.setUp()
        visit = world.desk.visit(by: DeskWorld.asker())
    }

    var boxes: [Prompt] { world.prompter.boxes }

    private var nextRequest: UInt64 {
        requests.withLock { number in
            number += 1
            return number
        }
    }

    private static func control(_ flags: AccessControlFlags) throws(KeychainError) -> AccessControl {
        try AccessControl(accessibility: .whenUnlocked, flags: flags)
    }

    private func fields(mayAsk: Bool) -> PromptFields {
        PromptFields(
            origin: PromptOrigin(terminal: "/dev/pts/0"),
            reason: "a test",
            interactionAllowed: mayAsk
        )
    }

    /// Sets a context's password as `LAContext.setCredential` does; nil removes it.
    func set(_ password: String?, in context: UInt64) async throws(KeychainError) {
        let octets = password.map { Array($0.utf8) }
        var secret: SecretBytes?
        if let octets { secret = SecretBytes(copying: octets) }
        try await visit.setPassword(SetCredential(context: context, password: secret.take()))
    }

    /// Stores what the opening calls need, sealed with a password that the program sets.
    func prepare(
        _ account: String = "ada",
        password: String = word,
        flags: AccessControlFlags = .applicationPassword
    ) async throws {
        try await set(password, in: 1 << 20)
        try await add(account, flags, context: 1 << 20)
        let made = try await visit.makeKey(
            MakeKey(
                accessControl: try Self.control(flags.union(.privateKeyUsage)),
                context: 1 << 20,
                prompt: fields(mayAsk: false)
            ),
            request: nextRequest
        )
        key.withLock { $0 = made.representation }
        try await set(nil, in: 1 << 20)
    }

    /// Stores an item without an access control.
    func addPlain(_ account: String) async throws { try await add(account, [], context: nil) }

    /// Makes a call; the first item of each page that it reads, as text.
    @discardableResult
    func make(
        _ call: PasswordCall,
        _ account: String = "ada",
        context: UInt64? = nil,
        mayAsk: Bool = true,
        ui: ItemQuery.AuthenticationUI = .allow
    ) async throws(KeychainError) -> [String] {
        var query = ItemQuery(itemClass: .genericPassword, limit: .all)
        query.authenticationUI = ui
        if call != .list { query.attributes[.account] = .string(account) }
        let prompt = fields(mayAsk: mayAsk)
        switch call {
        case .add: try await add(account, .applicationPassword, context: context, mayAsk: mayAsk)
        case .replace:
            let new = ReplaceItem(
                query: query,
                itemClass: .genericPassword,
                attributes: [.account: .string(account)],
                accessControl: try Self.control(.applicationPassword),
                data: SecretBytes(copying: Array("replaced".utf8)),
                context: context,
                prompt: prompt
            )
            _ = try await visit.replace(new, request: nextRequest)
        case .protect:
            let changes = UpdateItems(
                query: query,
                attributes: [:],
                accessControl: try Self.control(.applicationPassword),
                data: nil,
                context: context,
                prompt: prompt
            )
            _ = try await visit.update(changes, request: nextRequest)
        case .change:
            let changes = UpdateItems(
                query: query,
                attributes: [:],
                accessControl: nil,
                data: SecretBytes(copying: Array("changed".utf8)),
                context: context,
                prompt: prompt
            )
            _ = try await visit.update(changes, request: nextRequest)
        case .makeKey:
            let made = try await visit.makeKey(
                MakeKey(
                    accessControl: try Self.control([.applicationPassword, .privateKeyUsage]),
                    context: context,
                    prompt: prompt
                ),
                request: nextRequest
            )
            key.withLock { $0 = made.representation }
        case .useKey:
            let use = UseKey(
                representation: key.withLock { $0 },
                use: .sign(digest: [UInt8](repeating: 7, count: 32)),
                context: context,
                prompt: prompt
            )
            let signature = try await visit.useKey(use, request: nextRequest)
            return ["\(signature.count)"]
        case .read, .list:
            query.returns = .data
            let items = Guarded<[String]>([])
            let copy = CopyItems(query: query, context: context, prompt: prompt)
            do throws(KeychainError) {
                _ = try await visit.copy(copy, request: nextRequest) { page, _ in
                    if page.count > 0 { items.withLock { $0.append(LineDoor.text(of: page)) } }
                    return true
                }
            } catch {
                guard error.status == .itemNotFound else { throw error }
            }
            return items.withLock { $0 }
        }
        return []
    }

    private func add(
        _ account: String,
        _ flags: AccessControlFlags,
        context: UInt64?,
        mayAsk: Bool = false
    ) async throws(KeychainError) {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string(account)],
            accessControl: try Self.control(flags),
            data: SecretBytes(copying: Array(account.utf8)),
            context: context,
            prompt: fields(mayAsk: mayAsk)
        )
        _ = try await visit.add(item, request: nextRequest)
    }
}
