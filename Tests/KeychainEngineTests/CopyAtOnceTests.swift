import KeychainModel
import Testing

@testable import KeychainEngine

@Suite("Synchronous look-ups on the caller's thread")
struct CopyAtOnceTests {
    let keychain = TestKeychain()

    private static func query(_ account: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("tests")],
            returns: .data
        )
    }

    private static func found(
        _ account: String,
        _ engine: KeychainEngine,
        groups: [AccessGroup] = [.ours],
        authorization: ItemAuthorization = ItemAuthorization()
    ) throws -> String? {
        let page = try engine.copyAtOnce(query(account), groups: groups, authorization: authorization)
        guard let page else { return nil }
        return try decode(page).first?.text
    }

    @Test("it returns what an asynchronous look-up returns, and nothing of another group or a locked keybag")
    func same() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "first")
        #expect(try Self.found("ann", engine) == "first")
        #expect(throws: KeychainError(.itemNotFound)) { try Self.found("bob", engine) }
        #expect(throws: KeychainError(.itemNotFound)) { try Self.found("ann", engine, groups: [.theirs]) }
        _ = try await engine.update("ann", secret: "second")
        #expect(try Self.found("ann", engine) == "second")
        await engine.lock()
        let error = #expect(throws: KeychainError.self) { try Self.found("ann", engine) }
        #expect(error?.cause == .locked)
    }

    @Test("a look-up that needs the user or a derived key is declined")
    func others() async throws {
        let (engine, _) = try await keychain.setUp()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        try await engine.add("ann", "secret", control)
        #expect(try Self.found("ann", engine) == nil)
        try await engine.add("bob")
        let password = ApplicationPassword(.text("password"))
        let authorization = ItemAuthorization(applicationPassword: password)
        #expect(try Self.found("bob", engine, authorization: authorization) == nil)
    }

    @Test("a synchronous look-up is declined while the engine is busy")
    func busy() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann")
        let meanwhile = try await engine.run { engine in try Self.found("ann", engine) }
        #expect(meanwhile == nil)
        #expect(try Self.found("ann", engine) == "secret")
    }

    @Test("synchronous look-ups run concurrently with changes")
    func together() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann")
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for client in 0..<8 {
                group.addTask {
                    for index in 0..<20 { try await engine.add("\(client) \(index)") }
                    return 0
                }
                group.addTask {
                    let secrets = try (0..<200).compactMap { _ in try Self.found("ann", engine) }
                    #expect(secrets.allSatisfy { $0 == "secret" })
                    return secrets.count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(answers > 0)
        #expect(await engine.check().items == 161)
        #expect(await engine.check().isSetAuthentic)
    }
}
