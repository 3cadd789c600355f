import AccountStore
import Testing

@Suite("Published keys of access tokens")
struct TokenKeyTests {
    @Test(
        "a key is there until its end, which only moves later writes, and is then purged",
        arguments: StoreKind.allCases
    )
    func keys(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            func key(_ byte: UInt8, until end: Timestamp) -> PublishedKey {
                PublishedKey(
                    thumbprint: [UInt8](repeating: byte, count: 32),
                    rawRepresentation: [UInt8](repeating: byte, count: 64),
                    expiresAt: end
                )
            }
            #expect(try await store.publishedKeys(now: start) == [])
            let (one, two) = (key(1, until: start + .seconds(60)), key(2, until: start + .seconds(120)))
            try await store.publish(one)
            try await store.publish(two)
            #expect(try await store.publishedKeys(now: start) == [two, one])
            #expect(try await store.publishedKeys(now: start + .seconds(60)) == [two])
            let longer = key(1, until: start + .seconds(300))
            try await store.publish(longer)
            #expect(try await store.publishedKeys(now: start + .seconds(60)) == [longer, two])
            var (cursor, removed) = (PurgeCursor?.none, 0)
            repeat {
                let part = try await store.purge(from: cursor, PurgeSettings(), now: start + .seconds(200))
                (cursor, removed) = (part.next, removed + part.removed)
            } while cursor != nil
            #expect(removed == 1)
            #expect(try await store.publishedKeys(now: start) == [longer])
        }
    }
}
