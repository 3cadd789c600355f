import AccountStore
import Testing

@Suite("Heads of the audit")
struct AuditHeadTests {
    @Test(
        "heads follow each other and cover what they were made of, and nothing else",
        arguments: StoreKind.allCases
    )
    func heads(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            #expect(AuditHead(of: [], following: nil) == nil)
            let person = try await Person(store)
            let before = try await settledAudit(store, count: 2)
            let first = try #require(AuditHead(of: before, following: nil))
            #expect(first.after == 0 && first.count == 2 && first.previous == AuditHead.start)
            #expect(first.covers(before) && first.oldest == start)

            _ = try await person.logIn(at: start + .seconds(9))
            _ = try await person.logIn(at: start + .seconds(5))
            let later = Array(try await settledAudit(store, count: 4).dropFirst(2))
            let second = try #require(AuditHead(of: later, following: first))
            #expect(second.after == first.position && second.previous == first.value)
            #expect(second.oldest == start + .seconds(5) && second.count == 2)
            for others in [
                [], Array(later.dropLast()), Array(later.dropFirst()), later.reversed(), before,
                before + later,
            ] {
                #expect(!second.covers(others))
            }
            #expect(first.covers(before) && second.covers(later))
        }
    }

    @Test("each part of a head is in its value")
    func value() {
        func value(
            _ after: Int64 = 1,
            _ position: Int64 = 2,
            _ count: Int = 3,
            _ oldest: Int64 = 4,
            _ digest: UInt8 = 5,
            _ previous: UInt8 = 6
        ) -> [UInt8] {
            AuditHead(
                after: after,
                position: position,
                count: count,
                oldest: Timestamp(milliseconds: oldest),
                digest: [UInt8](repeating: digest, count: 32),
                previous: [UInt8](repeating: previous, count: 32)
            ).value
        }
        let values = [
            value(), value(9), value(1, 9), value(1, 2, 9), value(1, 2, 3, 9), value(1, 2, 3, 4, 9),
            value(1, 2, 3, 4, 5, 9),
        ]
        #expect(Set(values).count == values.count)
    }
}
