import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("touchstone run")
struct RunTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func keychain(_ secrets: [String: String] = ["mail": "s3cret", "bank": "two words"]) throws
        -> ScriptedKeychain
    {
        try ScriptedKeychain(home, secrets.mapValues { .init(octets: Array($0.utf8)) })
    }

    @Test("the command gets its secrets and the rest of the environment")
    func environment() async throws {
        let keychain = try keychain()
        var run = CommandRun("run", "--env", "A=mail", "--env", "B=bank", "--", "env", home: home)
        run.environment = ["A": "old", "KEPT": "yes"]
        let result = try await run.run()
        #expect(result.status == 0)
        let lines = result.text.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("A=") } == ["A=s3cret"])
        #expect(lines.contains("B=two words"))
        #expect(lines.contains("KEPT=yes"))
        _ = keychain
    }

    @Test("all secrets are read in one context, the strictest first")
    func oneContext() async throws {
        let keychain = try ScriptedKeychain(
            home,
            [
                "none": .init(octets: [0x31], flags: []), "either": .init(octets: [0x32]),
                "finger": .init(octets: [0x33], flags: .biometryCurrentSet),
                "passcode": .init(octets: [0x34], flags: .devicePasscode),
            ]
        )
        let names = ["none", "either", "finger", "passcode"]
        var run = CommandRun("run", home: home)
        run.arguments += names.flatMap { ["--env", "\($0)=\($0)"] } + ["--", "true"]
        #expect(try await run.run().status == 0)
        #expect(keychain.released == ["finger", "passcode", "either", "none"])
        #expect(keychain.contexts.count == 1)
        #expect(!keychain.contexts.contains(nil))
    }

    @Test("run exits with the command's status", arguments: [0, 1, 3, 42, 255])
    func status(status: Int32) async throws {
        let keychain = try keychain()
        let result = try await CommandRun(
            "run",
            "--env",
            "A=mail",
            "--",
            "sh",
            "-c",
            "exit \(status)",
            home: home
        ).run()
        #expect(result.status == status)
        _ = keychain
    }

    @Test("the command gets its arguments byte for byte, and its own name")
    func arguments() async throws {
        let keychain = try keychain()
        let result = try await CommandRun(
            "run",
            "--env",
            "A=mail",
            "--",
            "printf",
            "%s|",
            "",
            "a b",
            "--env",
            "\u{1B}é",
            "--",
            home: home
        ).run()
        #expect(result.text == "|a b|--env|\u{1B}é|--|")
        _ = keychain
    }

    @Test(
        "run executes the command in its own process, so signals reach it",
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    )
    func signals(signal: Int32) async throws {
        let keychain = try keychain()
        let terminal = try PseudoTerminal()
        var run = CommandRun("run", "--env", "A=mail", "--", "sh", home: home)
        run.arguments += ["-c", "trap 'exit 77' \(signal); echo ready; while :; do sleep 0.05; done"]
        run.terminal = terminal
        run.drawsOnTerminal = true
        let started = try run.start()
        try await terminal.wait(for: "ready")
        kill(started.processID, signal)
        #expect(await started.result().status == 77)
        _ = keychain
    }

    @Test("run dies of the signal that ends the command")
    func death() async throws {
        let keychain = try keychain()
        let result = try await CommandRun(
            "run",
            "--env",
            "A=mail",
            "--",
            "sh",
            "-c",
            "kill -TERM $$",
            home: home
        ).run()
        #expect(result.signal == SIGTERM)
        _ = keychain
    }

    @Test("a missing command exits with 127 without any request")
    func missing() async throws {
        let keychain = try keychain()
        for command in ["no-such-command", "/no/such/command", ""] {
            let result = try await CommandRun("run", "--env", "A=mail", "--", command, home: home).run()
            #expect(result.status == 127)
            #expect(result.errors.hasPrefix("error: command not found"))
        }
        #expect(keychain.methods.isEmpty)
    }

    @Test("a file that cannot be executed exits with 126 without any request")
    func notExecutable() async throws {
        let keychain = try keychain()
        let result = try await CommandRun("run", "--env", "A=mail", "--", "/etc/passwd", home: home).run()
        #expect(result.status == 126)
        #expect(keychain.methods.isEmpty)
    }

    @Test("a missing secret is reported before another is read")
    func missingSecret() async throws {
        let keychain = try keychain()
        let result = try await CommandRun(
            "run",
            "--env",
            "A=mail",
            "--env",
            "B=gone",
            "--",
            "touch",
            home.path + "/ran",
            home: home
        ).run()
        #expect(result.status == 3)
        #expect(result.errors.contains("'gone'"))
        #expect(keychain.released.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: home.path + "/ran"))
    }

    @Test("a secret with a NUL byte, or one too long for the environment, is refused")
    func unfit() async throws {
        let keychain = try ScriptedKeychain(
            home,
            [
                "nul": .init(octets: [1, 0, 2]),
                "long": .init(octets: [UInt8](repeating: 0x61, count: 131_072)),
            ]
        )
        for name in ["nul", "long"] {
            let result = try await CommandRun("run", "--env", "A=\(name)", "--", "env", home: home).run()
            #expect(result.status == 1)
            #expect(result.errors.contains("'\(name)'"))
            #expect(result.output.isEmpty)
        }
        _ = keychain
    }
}
