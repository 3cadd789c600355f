import ScriptedDaemon
import Testing

@Suite("Usage of touchstone")
struct UsageTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private static let commands = [
        "set", "get", "run", "list", "show", "delete", "setup", "unlock", "lock", "passcode", "recover",
        "status",
        "doctor",
    ]

    @Test(
        "wrong usage exits with status 64, an error line and a hint line",
        arguments: [
            ["get"], ["get", ""], ["get", "a\nb"], ["get", String(repeating: "n", count: 256)], ["nonsense"],
            ["set", "a", "--require", "blood"], ["run"], ["run", "--env", "A=b"], ["run", "--", "true"],
            ["run", "--env", "1A=b", "--", "true"], ["run", "--env", "A-B=b", "--", "true"],
            ["run", "--env", "=b", "--", "true"], ["run", "--env", "A=", "--", "true"],
            ["run", "--env", "A=b", "--env", "A=c", "--", "true"], ["list", "extra"], ["help", "nonsense"],
            ["get", "-dash"], ["get", "-h2"], ["delete", "a", "-yh"], ["attest", "--nonce", "abc"],
            ["set", "a", "--require", "none", "--require", "finger"],
            ["set", "a", "--from-file=a", "--from-file=b"],
            ["get", String(repeating: "n", count: 100_000)],
        ]
    )
    func wrong(arguments: [String]) async throws {
        var run = CommandRun(home: home)
        run.arguments = arguments
        let result = try await run.run()
        #expect(result.status == 64)
        let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3)
        #expect(lines.first?.hasPrefix("error: ") == true)
        #expect(lines.dropFirst().first?.hasPrefix("hint: ") == true)
        #expect(result.errors.utf8.count < 1000)
        #expect(result.output.isEmpty)
    }

    @Test(
        "an invalid name or variable is explained",
        arguments: [
            (["get", ""], "a name is not empty"), (["show", "a\u{1}"], "no control characters"),
            (["delete", String(repeating: "ü", count: 128)], "at most 255 bytes"),
            (["set", "\u{FFFD}"], "UTF-8"), (["run", "--env", "A", "--", "true"], "VAR=NAME"),
            (["run", "--env", "1A=b", "--", "true"], "no digit first"),
            (["generate", "a", "--characters", "foo"], "lower, upper, letters, digits, hex and symbols"),
            (["generate", "a", "--characters", "letters,lower"], "each kind is named once"),
            (["set", "a", "--require", "blood"], "'finger', 'passcode', 'either' or 'none'"),
            (["run", "--env", "A=", "--", "true"], "a name is not empty"),
        ]
    )
    func reasons(arguments: [String], reason: String) async throws {
        var run = CommandRun(home: home)
        run.arguments = arguments
        let result = try await run.run()
        #expect(result.status == 64)
        #expect(result.errors.split(separator: "\n").first?.contains(reason) == true, "\(result.errors)")
    }

    @Test(
        "a mistyped command is answered with a suggestion",
        arguments: [
            ("lsit", "list"), ("gte", "get"), ("stats", "status"), ("del", "delete"), ("unlcok", "unlock"),
            ("recover-all", nil), ("x", nil),
        ]
    )
    func suggestion(typed: String, meant: String?) async throws {
        for arguments in [[typed], ["help", typed]] {
            var run = CommandRun(home: home)
            run.arguments = arguments
            let result = try await run.run()
            let guess = meant.map { "did you mean touchstone \($0)?" }
            let hint = guess ?? "touchstone --help names all commands"
            #expect(result.errors == "error: there is no command '\(typed)'\nhint: \(hint)\n")
        }
    }

    @Test("a name that begins with '-' is accepted after --")
    func dash() async throws {
        let keychain = try ScriptedKeychain(home, ["-dash": .init(octets: [0x78])])
        #expect(try await CommandRun("get", "--", "-dash", home: home).run().text == "x")
        _ = keychain
    }

    @Test("--help prints each command's usage to standard output", arguments: Self.commands)
    func help(command: String) async throws {
        let result = try await CommandRun(command, "--help", home: home).run()
        #expect(result.status == 0)
        #expect(result.text.contains("USAGE: touchstone \(command)"))
        #expect(result.errors.isEmpty)
    }

    @Test("the main help lists every exit status and command")
    func exitStatuses() async throws {
        let text = try await CommandRun("--help", home: home).run().text
        for number in ["0", "1", "3", "4", "5", "6", "7", "8", "9", "10", "64"] {
            #expect(text.contains(" \(number) "))
        }
        for command in Self.commands {
            let isThere = text.contains("\n  \(command) ") || text.contains("\n  \(command), ")
            #expect(isThere, "\(command)")
        }
    }

    @Test("a missing daemon exits with status 7 and a hint")
    func noDaemon() async throws {
        let result = try await CommandRun("list", home: home).run()
        #expect(result.status == 7)
        #expect(result.errors.contains("error: the daemon, touchstoned, is not installed\nhint: "))
    }

    @Test("a missing home directory is reported")
    func noHome() async throws {
        var run = CommandRun("list", home: home)
        run.environment = ["TOUCHSTONE_HOME": ""]
        let result = try await run.run()
        #expect(result.status == 7)
        #expect(result.errors.contains("HOME is not set"))
        #expect(result.errors.hasSuffix("\nhint: set HOME\n"))
    }

    @Test("doctor never suggests to run doctor")
    func doctor() async throws {
        var run = CommandRun("doctor", home: home)
        run.environment = ["TOUCHSTONE_DAEMON": "/bin/false"]
        let result = try await run.run()
        #expect(result.status == 1)
        #expect(result.text.contains("fail  daemon: the daemon did not start"))
        #expect(!result.text.contains("touchstone doctor"))
    }
}
