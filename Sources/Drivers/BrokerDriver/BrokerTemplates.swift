internal import BrokerProtocol
public import KeychainModel

/// Tells the enrolled templates of a user by the broker's digest, for a daemon that may not read fprintd's files.
public struct BrokerTemplates: TemplateReader {
    /// SHA-256.
    private static let digestByteCount = 32

    private let broker: Broker
    private let uid: UInt32

    /// Asks this broker for the fingers of a user.
    public init(_ broker: Broker, of uid: UInt32) {
        self.broker = broker
        self.uid = uid
    }

    /// Asks for the digest; ``Enrolment/Templates/untold`` where there is no answer, or none that can be.
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
