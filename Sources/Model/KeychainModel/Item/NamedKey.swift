/// A private key that every program of the user may use through a door for keys (the ssh-agent), each use under the key's own
/// rule: an item without a secret that names the key.
public struct NamedKey: Sendable, Equatable {
    /// A host for which alone a key may be used.
    public struct Host: Sendable, Hashable {
        /// Its name, as the user wrote it.
        public let name: String
        /// The fingerprint of one of its keys, `SHA256:` and base64.
        public let fingerprint: String

        /// Describes a host; nil if one of the texts is empty or has white space.
        public init?(name: String, fingerprint: String) {
            guard [name, fingerprint].allSatisfy({ !$0.isEmpty && !$0.contains(where: \.isWhitespace) })
            else { return nil }
            self.name = name
            self.fingerprint = fingerprint
        }
    }

    /// The group of these keys: only the command makes and deletes them.
    public static let group: AccessGroup = {
        guard let group = AccessGroup("touchstone.keys") else {
            preconditionFailure("a constant name is a valid name")
        }
        return group
    }()
    /// The most of these keys that the command makes; each is offered to a server in turn, and OpenSSH's ends a connection after six.
    public static let most = 256
    /// The most host keys of a key.
    public static let mostHosts = 64

    private static let service = "touchstone.key"
    private static let representationKey = AttributeKey(rawValue: "key.representation")
    private static let hostsKey = AttributeKey(rawValue: "key.hosts")

    /// Its name, unique among these keys.
    public let name: String
    /// Uncompressed X9.63, 65 bytes.
    public let publicKey: [UInt8]
    /// ``EnclaveKey/representation``.
    public let representation: [UInt8]
    /// The only hosts for which it signs; empty for any, and for other messages too.
    public let hosts: [Host]
    /// When it was made, in microseconds since 1970; nil for one that is not stored yet.
    public let created: Int64?

    /// Describes a new key.
    public init(name: String, key: EnclaveKey, hosts: [Host]) {
        self.name = name
        publicKey = key.publicKey
        representation = key.representation
        self.hosts = hosts
        created = nil
    }

    /// Reads the attributes of an item; nil if they are not those of a key.
    public init?(_ attributes: ItemAttributes) {
        guard attributes[.service] == .string(Self.service),
            case .string(let name)? = attributes[.account],
            case .data(let publicKey)? = attributes[.generic],
            publicKey.count == HardwareKey.publicKeyOctetCount,
            case .data(let representation)? = attributes[Self.representationKey],
            case .string(let hosts)? = attributes[Self.hostsKey]
        else { return nil }
        let lines = hosts.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let read = lines.compactMap { $0.count == 2 ? Host(name: $0[0], fingerprint: $0[1]) : nil }
        // A restriction that cannot be read must not become none.
        guard read.count == lines.count else { return nil }
        self.name = name
        self.publicKey = publicKey
        self.representation = representation
        self.hosts = read
        if case .date(let microseconds)? = attributes[.creationDate] {
            created = microseconds
        } else {
            created = nil
        }
    }

    /// The attributes of its item, which the key is deleted with.
    public var attributes: ItemAttributes {
        [
            .accessGroup: .string(Self.group.name), .service: .string(Self.service), .account: .string(name),
            .label: .string(name), .generic: .data(publicKey),
            Self.representationKey: .data(representation), .namedKeys: .keys([representation]),
            Self.hostsKey: .string(hosts.map { "\($0.name) \($0.fingerprint)" }.joined(separator: "\n")),
        ]
    }

    /// The query for the attributes of all keys.
    public static var all: ItemQuery { query([:], .all) }
    /// The query for the key of a name.
    public static func named(_ name: String) -> ItemQuery { query([.account: .string(name)], .one) }
    /// The query for the key of a public key.
    public static func of(_ publicKey: [UInt8]) -> ItemQuery { query([.generic: .data(publicKey)], .one) }

    private static func query(_ attributes: ItemAttributes, _ limit: ItemQuery.Limit) -> ItemQuery {
        var attributes = attributes
        attributes[.accessGroup] = .string(group.name)
        attributes[.service] = .string(service)
        return ItemQuery(
            itemClass: .genericPassword,
            attributes: attributes,
            limit: limit,
            returns: .attributes
        )
    }
}
