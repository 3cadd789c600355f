import AccountStore
import RelyingParty
import Synchronization
import Testing

@testable import TouchstoneServer

@Suite("Keys that sign access tokens")
struct TokenSignerTests {
    /// What services read: the published keys.
    private final class Published: Sendable {
        private let keys = Mutex<[[UInt8]: PublishedKey]>([:])
        private let counts = Mutex((writes: 0, failures: 0))

        func failNext() { counts.withLock { $0.failures = 1 } }

        func publish(_ key: PublishedKey) throws(StoreError) {
            let fails = counts.withLock { counts in
                counts.writes += 1
                defer { counts.failures = 0 }
                return counts.failures > 0
            }
            if fails { throw StoreError(.unavailable, cause: "a test") }
            keys.withLock { $0[key.thumbprint] = key }
        }

        func end(_ key: TokenSigningKey) -> Timestamp? {
            keys.withLock { $0[key.publicKey.thumbprint]?.expiresAt }
        }

        func names(at now: Timestamp) -> Set<[UInt8]> {
            keys.withLock { keys in Set(keys.values.filter { $0.expiresAt > now }.map(\.thumbprint)) }
        }

        var writes: Int { counts.withLock(\.writes) }
    }

    private let published = Published()
    private let signer = TokenSigner()
    private static let start = Timestamp(seconds: 1_800_000_000)

    private func key(_ now: Timestamp, for lifetime: Duration = .seconds(3600)) async throws(StoreError)
        -> TokenSigningKey
    {
        let published = published
        let publish = { (key: PublishedKey) throws(StoreError) in try published.publish(key) }
        return try await signer.key(until: now + lifetime, now: now, publish: publish)
    }

    @Test("a key is published before its first token, and for longer than its last one")
    func publication() async throws {
        var now = Self.start
        let first = try await key(now)
        while now < Self.start + TokenSigner.lifetime {
            let used = try await key(now)
            #expect(used.publicKey == first.publicKey)
            #expect(try #require(published.end(used)) > now + .seconds(3600))
            now = now + .seconds(600)
        }
        // Not with each token: a day of tokens wrote about once in an hour and a half.
        #expect((12...24).contains(published.writes), "\(published.writes)")
    }

    @Test(
        "after a day another key is published, signs once services know it, and the former stays for its tokens"
    )
    func rotation() async throws {
        let first = try await key(Self.start)
        let turn = Self.start + TokenSigner.lifetime
        #expect(try await key(turn).publicKey == first.publicKey)
        #expect(published.names(at: turn).count == 2)
        let early = turn + TokenSigner.lead - .seconds(1)
        #expect(try await key(early).publicKey == first.publicKey)
        let second = try await key(turn + TokenSigner.lead)
        #expect(second.publicKey != first.publicKey)
        let after = turn + TokenSigner.lead
        // The last token of the first key was issued a second before.
        #expect(try #require(published.end(first)) > early + .seconds(3600))
        #expect(published.names(at: after).contains(second.publicKey.thumbprint))
        #expect(try await key(after + TokenSigner.lifetime).publicKey == second.publicKey)
        #expect(try await key(after + TokenSigner.lifetime + TokenSigner.lead).publicKey != second.publicKey)
    }

    @Test("after days without a token the next key still waits until services know it")
    func idle() async throws {
        let first = try await key(Self.start)
        let turn = Self.start + TokenSigner.lifetime
        #expect(try await key(turn).publicKey == first.publicKey)
        // The next key was published, and its publication ended.
        let late = turn + .seconds(10 * 86_400)
        #expect(try await key(late).publicKey == first.publicKey)
        #expect(try await key(late + .seconds(1)).publicKey == first.publicKey)
        #expect(try await key(late + TokenSigner.lead).publicKey != first.publicKey)
    }

    @Test("a key that cannot be published signs nothing, and is published with the next token")
    func unavailable() async throws {
        published.failNext()
        await #expect(throws: StoreError(.unavailable)) { try await key(Self.start) }
        #expect(published.names(at: Self.start).isEmpty)
        let first = try await key(Self.start)
        #expect(published.end(first) != nil)
        let turn = Self.start + TokenSigner.lifetime
        // The current key is published anew at its turn as well.
        _ = try await key(turn - .seconds(1))
        published.failNext()
        await #expect(throws: StoreError(.unavailable)) { try await key(turn) }
        #expect(published.names(at: turn).count == 1)
        #expect(try await key(turn + TokenSigner.lead).publicKey == first.publicKey)
        #expect(try await key(turn + TokenSigner.lead * 2).publicKey != first.publicKey)
    }

    @Test("many at once get one key")
    func together() async throws {
        let keys = try await withThrowingTaskGroup(of: TokenKey.self) { group in
            for _ in 0..<32 { group.addTask { try await key(Self.start).publicKey } }
            return try await group.reduce(into: [TokenKey]()) { $0.append($1) }
        }
        #expect(keys.allSatisfy { $0 == keys[0] })
        #expect(published.names(at: Self.start) == [keys[0].thumbprint])
    }
}
