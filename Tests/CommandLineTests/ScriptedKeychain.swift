import KeychainModel
import ScriptedDaemon
import Synchronization

/// A daemon that serves the given secrets and records its requests.
final class ScriptedKeychain: Sendable {
    /// A secret to serve.
    struct Secret: Sendable {
        var octets: [UInt8]
        var flags: AccessControlFlags = .userPresence
    }

    private let seen: Seen
    private let daemon: ScriptedDaemon

    /// The requested methods so far, without hello.
    var methods: [Method] { seen.methods.withLock { $0 } }
    /// The names of the secrets released, in order.
    var released: [String] { seen.released.withLock { $0 } }
    /// The contexts in which they were released.
    var contexts: Set<UInt64?> { seen.contexts.withLock { $0 } }
    /// The bytes of the secrets added.
    var added: [[UInt8]] { seen.added.withLock { $0 } }

    /// Serves `secrets` in `home`.
    init(_ home: TemporaryHome, _ secrets: [String: Secret] = [:]) throws {
        let seen = Seen()
        self.seen = seen
        daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true { try Self.answer(peer.next(), of: peer, secrets, seen) }
        }
    }

    private final class Seen: Sendable {
        let methods = Mutex<[Method]>([])
        let released = Mutex<[String]>([])
        let contexts = Mutex<Set<UInt64?>>([])
        let added = Mutex<[[UInt8]]>([])
    }

    private static func answer(
        _ request: ScriptedRequest,
        of peer: ScriptedPeer,
        _ secrets: [String: Secret],
        _ seen: Seen
    ) throws {
        seen.methods.withLock { $0.append(request.head.method) }
        switch request.head.method {
        case .addItem:
            let octets = try request.addedOctets()
            seen.added.withLock { $0.append(octets) }
            try peer.reply(to: request, items: [ScriptedItem](), more: false)
        case .copyItems: try copy(request, of: peer, secrets, seen)
        case .deleteItems:
            let found = try names(request.body(DeleteItems.self).query, in: secrets)
            try found.isEmpty
                ? peer.refuse(request, KeychainError(.itemNotFound))
                : peer.reply(to: request, CountBody(found.count))
        default: try peer.reply(to: request)
        }
    }

    private static func copy(
        _ request: ScriptedRequest,
        of peer: ScriptedPeer,
        _ secrets: [String: Secret],
        _ seen: Seen
    ) throws {
        let body = try request.body(CopyItems.self)
        let found = names(body.query, in: secrets)
        guard !found.isEmpty else { return try peer.refuse(request, KeychainError(.itemNotFound)) }
        let wantsData = body.query.returns.contains(.data)
        if wantsData {
            seen.released.withLock { $0 += found }
            _ = seen.contexts.withLock { $0.insert(body.context) }
        }
        let items = try found.map { name in
            let secret = secrets[name]
            let rule = try AccessControl(accessibility: .whenUnlocked, flags: secret?.flags ?? [])
            let attributes: ItemAttributes = [
                .account: .string(name), .service: .string("touchstone"), .accessible: .string("ak"),
                .accessControl: .data(rule.encoded), .creationDate: .date(1_767_225_600_000_000),
                .modificationDate: .date(1_772_323_199_999_999),
            ]
            return ScriptedItem(attributes: attributes, data: wantsData ? secret?.octets : nil)
        }
        try peer.reply(to: request, items: items, more: false)
    }

    private static func names(_ query: ItemQuery, in secrets: [String: Secret]) -> [String] {
        guard query.attributes[.service] == .string("touchstone") else { return [] }
        guard case .string(let name) = query.attributes[.account] else { return secrets.keys.sorted(by: >) }
        return secrets[name] == nil ? [] : [name]
    }
}
