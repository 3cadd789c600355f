import KeychainModel
import Testing

@testable import KeychainEngine

@Suite("A look-up by name uses the index of names")
struct NamedRowTests {
    let keychain = TestKeychain()

    /// The first item of a name, for any value of synchronizable.
    private static func first(_ account: String, _ engine: KeychainEngine) async throws -> String? {
        let name: ItemAttributes = [
            .account: .string(account), .service: .string("tests"), .synchronizable: .string("syna"),
        ]
        return try await engine.all(name, limit: .one).first?.text
    }

    @Test("a renamed item is found under its new name, and its successor under the old name")
    func renamed() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "first")
        #expect(try await engine.secret("ann") == "first")
        _ = try await engine.update("ann", attributes: [.account: .string("bob")])
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("ann") }
        #expect(try await engine.secret("bob") == "first")
        try await engine.add("ann", "second")
        #expect(try await engine.secret("ann") == "second")
        #expect(try await engine.secret("bob") == "first")
    }

    @Test("an item that replaces a deleted one is found")
    func replaced() async throws {
        let (engine, _) = try await keychain.setUp()
        for round in 0..<3 {
            try await engine.add("ann", "\(round)")
            #expect(try await engine.secret("ann") == "\(round)")
            try await engine.delete("ann")
            await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("ann") }
        }
    }

    @Test("a refused add leaves the existing item findable")
    func refused() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "first")
        await #expect(throws: KeychainError(.duplicateItem)) { try await engine.add("ann", "second") }
        #expect(try await engine.secret("ann") == "first")
    }

    @Test("a look-up limited to one returns the first match, regardless of earlier look-ups")
    func variants() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "local")
        try await engine.add("ann", "synchronised", attributes: [.synchronizable: .boolean(true)])
        let synchronised: ItemAttributes = [
            .account: .string("ann"), .service: .string("tests"), .synchronizable: .boolean(true),
        ]
        for _ in 0..<2 {
            #expect(try await engine.all(synchronised, limit: .one).map(\.text) == ["synchronised"])
            #expect(try await Self.first("ann", engine) == "local")
        }
        try await engine.add("bob", "renamed")
        _ = try await engine.update("ann", attributes: [.account: .string("other")])
        #expect(try await Self.first("ann", engine) == "synchronised")
        _ = try await engine.update("bob", attributes: [.account: .string("ann")])
        #expect(try await Self.first("ann", engine) == "synchronised")
        #expect(try await engine.secret("ann") == "renamed")
        #expect(try await Self.first("ann", engine) == "synchronised")
    }

    @Test("after a restart a check of all items fills the index")
    func swept() async throws {
        do {
            let (engine, _) = try await keychain.setUp()
            for number in 0..<100 { try await engine.add("\(number)", "secret \(number)") }
        }
        let engine = try await keychain.restart()
        #expect(await engine.check().isWell)
        for number in 0..<100 { #expect(try await engine.secret("\(number)") == "secret \(number)") }
    }
}
