import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// Lists of more than one page.
@Suite("A list of many items")
struct ListTests {
    let keychain = TestKeychain()

    private func account(_ number: Int) -> String { "account \(number)" }

    @Test("has all items in order, whatever their size, with and without data")
    func whole() async throws {
        let (engine, _) = try await keychain.setUp()
        // Of every length up to some pages of the file; some without data, two longer than a page of the list.
        let secrets: [String?] = (0..<400).map { number in
            if number % 7 == 3 { return nil }
            if number == 150 || number == 151 { return String(repeating: "x", count: 200_000) }
            return String(repeating: "\(number % 10)", count: number * 13 % 5000)
        }
        for (number, secret) in secrets.enumerated() { try await engine.add(account(number), secret) }
        let all = try await engine.all()
        #expect(all.map(\.text) == secrets)
        #expect(all.map { $0.attributes?[.account] } == secrets.indices.map { .string(account($0)) })
        let attributes = try await engine.all(returns: .attributes)
        #expect(attributes.map { $0.attributes?[.account] } == secrets.indices.map { .string(account($0)) })
        #expect(attributes.allSatisfy { $0.data == nil && $0.reference == nil })
        #expect(try await engine.all(limit: .count(300)).map(\.text) == Array(secrets.prefix(300)))
    }

    @Test(
        "passes over pages in which no item matches",
        arguments: [[0], [599], [0, 599], [300], [10, 11, 12, 580]]
    )
    func sparse(matching: [Int]) async throws {
        let (engine, _) = try await keychain.setUp()
        let secret = String(repeating: "x", count: 500)
        for number in 0..<600 {
            let comment = matching.contains(number) ? "wanted" : "other"
            try await engine.add(account(number), secret, attributes: [.comment: .string(comment)])
        }
        let found = try await engine.all([.comment: .string("wanted")])
        #expect(found.map { $0.attributes?[.account] } == matching.map { .string(account($0)) })
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.all([.comment: .string("missing")])
        }
    }

    @Test("asks once for all that its items need", arguments: [(3, 33), (33, 3), (3, 4), (38, 39)])
    func needed(places: (Int, Int)) async throws {
        let (engine, _) = try await keychain.setUp()
        let one = try AccessControl(accessibility: .whenUnlocked, flags: .biometryAny)
        let other = try AccessControl(accessibility: .afterFirstUnlock, flags: .biometryAny)
        for number in 0..<40 {
            switch number {
            case places.0: try await engine.add(account(number), "secret", one)
            case places.1: try await engine.add(account(number), "secret", other)
            default: try await engine.add(account(number))
            }
        }
        let needs = await #expect(throws: NeedsAuthentication.self) { try await engine.all() }
        #expect(needs?.controls == (places.0 < places.1 ? [one, other] : [other, one]))
        let proofs = [Proofs.of(one, [.biometry]), Proofs.of(other, [.biometry])]
        #expect(try await engine.all(proofs: proofs).count == 40)
        #expect(try await engine.all(ui: .skip).count == 38)
        #expect(try await engine.all(returns: .attributes).count == 40)
        await #expect(throws: KeychainError(.interactionNotAllowed)) { try await engine.all(ui: .fail) }
    }

    @Test(
        "is refused where one of its items is damaged",
        arguments: [0, 5, 20, 39],
        ["data", "keys", "attributes"]
    )
    func damaged(place: Int, column: String) async throws {
        try await fill(40)
        try flipBit(of: column, inRow: place)
        let next = try await keychain.restart()
        await #expect(throws: KeychainError(.decode)) { try await next.all() }
        let intact = account(place == 0 ? 1 : 0)
        #expect(try await next.secret(intact) == "secret")
    }

    /// A closed keychain with some items.
    private func fill(_ count: Int) async throws {
        let (engine, _) = try await keychain.setUp()
        for number in 0..<count { try await engine.add(account(number)) }
        await engine.close()
    }

    /// Changes a column of one row behind the daemon's back.
    private func flipBit(of column: String, inRow place: Int) throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        try queue.writeWithoutTransaction { database in
            let ids = try Int64.fetchAll(database, sql: "SELECT id FROM items ORDER BY id")
            var octets = try #require(
                try Data.fetchOne(
                    database,
                    sql: "SELECT \(column) FROM items WHERE id = ?",
                    arguments: [ids[place]]
                )
            )
            octets[20] ^= 1
            try database.execute(
                sql: "UPDATE items SET \(column) = ? WHERE id = ?",
                arguments: [octets, ids[place]]
            )
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
    }
}
