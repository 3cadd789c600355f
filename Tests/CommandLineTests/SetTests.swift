import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("touchstone set")
struct SetTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    @Test(
        "takes standard input but for one newline at its end",
        arguments: [
            ("a\n", "a"), ("a", "a"), ("a\n\n", "a\n"), ("a\r\n", "a\r"), (" a b ", " a b "),
        ]
    )
    func standardInput(typed: String, stored: String) async throws {
        let keychain = try ScriptedKeychain(home)
        var run = CommandRun("set", "mail", home: home)
        run.input = .octets(Array(typed.utf8))
        let result = try await run.run()
        #expect(result.status == 0)
        #expect(result.output.isEmpty && result.errors.isEmpty)
        #expect(keychain.added == [Array(stored.utf8)])
    }

    @Test("takes everything with --exact, from a file too")
    func exact() async throws {
        let keychain = try ScriptedKeychain(home)
        let file = home.path + "/secret"
        let octets: [UInt8] = [0, 0x0A, 0xFF, 0x0A]
        try Data(octets).write(to: URL(fileURLWithPath: file))
        #expect(
            try await CommandRun("set", "mail", "--from-file", file, "--exact", home: home).run().status == 0
        )
        #expect(try await CommandRun("set", "mail", "--from-file", file, home: home).run().status == 0)
        #expect(keychain.added == [octets, Array(octets.dropLast())])
    }

    @Test("refuses an empty secret, and one that is too large, before it reaches the daemon")
    func sizes() async throws {
        let keychain = try ScriptedKeychain(home)
        var run = CommandRun("set", "mail", home: home)
        for (octets, words) in [
            ([], "empty"), ([0x0A], "empty"), ([UInt8](repeating: 1, count: 1_000_000), "too large"),
        ] {
            run.input = .octets(octets)
            let result = try await run.run()
            #expect(result.status == 1)
            #expect(result.errors.contains(words))
        }
        #expect(keychain.methods.isEmpty)
    }

    @Test("says which file it could not read")
    func missingFile() async throws {
        let result = try await CommandRun("set", "mail", "--from-file", "/no/such/file", home: home).run()
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("error: cannot read /no/such/file: No such file"))
        #expect(result.errors.contains("\nhint: "))
    }

    /// A `set` that asks on a terminal.
    private func asking(_ terminal: PseudoTerminal) -> CommandRun {
        var run = CommandRun("set", "mail", home: home)
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        return run
    }

    @Test("asks twice on the terminal and shows nothing of it")
    func terminal() async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        for question in ["Secret for 'mail':", "The same again:"] {
            try await terminal.wait(for: question)
            #expect(!terminal.isEchoing)
            terminal.press(.text("correct horse"), .enter)
        }
        #expect(await started.result().status == 0)
        #expect(terminal.isEchoing)
        #expect(!terminal.text.contains("horse"))
        #expect(keychain.added == [Array("correct horse".utf8)])
    }

    @Test("stores nothing when the two differ")
    func different() async throws {
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        terminal.press(.text("one"), .enter)
        try await terminal.wait(for: "The same again:")
        terminal.press(.text("two"), .enter)
        #expect(await started.result().status == 1)
        try await terminal.wait(for: "not the same")
        #expect(keychain.methods.isEmpty)
    }

    @Test("is cancelled by the end of input")
    func endOfInput() async throws {
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        terminal.press(.endOfFile)
        #expect(await started.result().status == 4)
        #expect(terminal.isEchoing)
    }

    @Test("gives the terminal its echo back when a key interrupts it")
    func interrupt() async throws {
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        #expect(!terminal.isEchoing)
        terminal.press(.interrupt)
        #expect(await started.result().signal == SIGINT)
        #expect(terminal.isEchoing)
    }

    @Test("gives the terminal its echo back when a signal ends it", arguments: [SIGTERM, SIGHUP, SIGQUIT])
    func termination(signal: Int32) async throws {
        let terminal = try PseudoTerminal()
        let started = try asking(terminal).start()
        try await terminal.wait(for: "Secret for 'mail':")
        kill(started.processID, signal)
        #expect(await started.result().signal == signal)
        #expect(terminal.isEchoing)
    }
}
