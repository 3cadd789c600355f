internal import BrokerProtocol
public import KeychainModel

/// Reads the broker's digest of a user's enrolled templates, for a daemon that may not read fprintd's files.
public struct BrokerTemplates: TemplateReader {
    /// SHA-256.
    private static let digestByteCount = 32

    private let broker: Broker
    private let uid: UInt32

    /// Creates a reader of the enrolled fingers of a user.
    public init(_ broker: Broker, of uid: UInt32) {
        self.broker = broker
        self.uid = uid
    }

    /// Requests the digest; ``Enrolment/Templates/untold`` if there is no reply or an invalid one.
    public func templates(expectingSome: Bool) async -> Enrolment.Templates {
        await broker.onThread(.untold) { [broker, uid] in
            guard let reply = try? broker.ask(.enrolment(uid: uid)).reply,
                let digest = reply.bytes(.digest), digest.count == Self.digestByteCount,
                let count = reply.number(.count), !(expectingSome && count == 0)
            else { return .untold }
            return .digest(digest)
        }
    }
}
