internal import AccountStore
internal import RelyingParty
internal import Synchronization

/// The key with which this process signs access tokens (RFC 9068), one after the other: each signs for a day.
///
/// The private half is in memory and nowhere else, so neither the database nor a backup can sign. The public half is in the store
/// for as long as tokens of the key are valid, so that every server publishes the keys of all.
final class TokenSigner: Sendable {
    /// How long a key signs.
    static let lifetime = Duration.seconds(86_400)
    /// How long services may keep the published keys: `max-age` of their reply.
    static let cacheLifetime = Duration.seconds(300)
    /// How long a key is published before it signs, unless there is no other.
    static let lead = cacheLifetime * 2
    /// How long a key stays published; renewed while it signs.
    static let publication = Duration.seconds(2 * 3600)

    private struct Key {
        let key = TokenSigningKey()
        let madeAt: Timestamp
        /// Since when it has been published without a break; nil: not yet.
        var publishedAt: Timestamp?
        /// Until when it is published.
        var expiresAt: Timestamp

        init(_ now: Timestamp) {
            madeAt = now
            expiresAt = now
        }

        /// Whether services that keep the published keys have it.
        func isKnown(at now: Timestamp) -> Bool {
            guard let publishedAt else { return false }
            return expiresAt > now && now - publishedAt >= TokenSigner.lead
        }

        mutating func publish(until end: Timestamp, now: Timestamp) {
            if expiresAt <= now { publishedAt = now }
            expiresAt = end + TokenSigner.publication
        }

        var published: PublishedKey {
            PublishedKey(
                thumbprint: key.publicKey.thumbprint,
                rawRepresentation: key.publicKey.rawRepresentation,
                expiresAt: expiresAt
            )
        }
    }

    private struct Keys {
        var current: Key
        var next: Key?
    }

    private let keys = Mutex<Keys?>(nil)

    /// The key for a token, which is published for longer than the token is valid.
    ///
    /// - Parameters:
    ///   - end: when the token expires.
    ///   - now: the current time.
    ///   - publish: publishes a key.
    /// - Returns: the key.
    /// - Throws: an error of `publish`; the key is then published at the next call.
    func key(
        until end: Timestamp,
        now: Timestamp,
        publish: (PublishedKey) async throws(StoreError) -> Void
    ) async throws(StoreError) -> TokenSigningKey {
        let (current, next) = keys.withLock { keys in
            var kept = keys ?? Keys(current: Key(now))
            if now - kept.current.madeAt >= Self.lifetime {
                if let next = kept.next, next.isKnown(at: now) {
                    kept = Keys(current: next)
                } else if kept.next == nil {
                    kept.next = Key(now)
                }
            }
            keys = kept
            return (kept.current, kept.next)
        }
        for var key in [current, next].compactMap(\.self) where key.expiresAt <= end + .seconds(60) {
            key.publish(until: end, now: now)
            try await publish(key.published)
            let published = key
            keys.withLock { keys in
                if keys?.current.key.publicKey == published.key.publicKey { keys?.current = published }
                if keys?.next?.key.publicKey == published.key.publicKey { keys?.next = published }
            }
        }
        return current.key
    }
}
