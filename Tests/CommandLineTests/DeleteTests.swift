import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("touchstone delete")
struct DeleteTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func delete(answering keys: PseudoTerminal.Key..., with keychain: ScriptedKeychain) async throws
        -> Int32?
    {
        let terminal = try PseudoTerminal()
        var run = CommandRun("delete", "mail", home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        let started = try run.start()
        try await terminal.wait(for: "Delete 'mail'? [y/N]")
        terminal.press(keys)
        return await started.result().status
    }

    @Test("delete asks for confirmation and deletes on yes")
    func yes() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: [1])])
        #expect(try await delete(answering: .text("y"), .enter, with: keychain) == 0)
        #expect(keychain.methods.last == .deleteItems)
    }

    @Test("any other answer deletes nothing", arguments: ["", "n", "no", "yep", "Y e s"])
    func no(answer: String) async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: [1])])
        #expect(try await delete(answering: .text(answer), .enter, with: keychain) == 4)
        #expect(!keychain.methods.contains(.deleteItems))
    }

    @Test("the end of input deletes nothing")
    func endOfInput() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: [1])])
        #expect(try await delete(answering: .endOfFile, with: keychain) == 4)
        #expect(!keychain.methods.contains(.deleteItems))
    }

    @Test("without a terminal delete requires --yes")
    func noTerminal() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: [1])])
        let refused = try await CommandRun("delete", "mail", home: home).run()
        #expect(refused.status == 8)
        #expect(refused.errors.contains("hint: say --yes"))
        #expect(keychain.methods.isEmpty)
        #expect(try await CommandRun("delete", "mail", "--yes", home: home).run().status == 0)
        // The look-up asks whether the keychain keeps values.
        #expect(keychain.methods == [.copyItems, .deleteItems])
    }

    @Test("deleting a missing secret is reported")
    func missing() async throws {
        let keychain = try ScriptedKeychain(home)
        let result = try await CommandRun("delete", "mail", "--yes", home: home).run()
        #expect(result.status == 3)
        _ = keychain
    }
}
