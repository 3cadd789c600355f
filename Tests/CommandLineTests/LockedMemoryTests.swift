import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The programs that start a command with a resource limit.
private enum Limiter {
    static let prlimit = "/usr/bin/prlimit"
    static let setpriv = "/usr/bin/setpriv"
    static var isThere: Bool { Programs.isBuilt(prlimit) && (geteuid() != 0 || Programs.isBuilt(setpriv)) }
}

/// Every command under a locked-memory limit (`RLIMIT_MEMLOCK`) of zero or too little.
@Suite(
    "Without enough locked memory",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .enabled(if: Limiter.isThere, "prlimit, or setpriv for root, is missing")
)
struct LockedMemoryTests {
    /// A run of a command, and its expected output.
    private struct Verb: Sendable {
        let arguments: [String]
        var input: String?
        var output: String?
        var environment: [String: String] = [:]
        var drawsOnTerminal = false

        init(_ arguments: String..., input: String? = nil, output: String? = nil) {
            self.arguments = arguments
            self.input = input
            self.output = output
        }
    }

    private static let credential = "protocol=https\nhost=example.org\nusername=u\n"
    private static let login = "{\"ServerURL\":\"s.example\",\"Username\":\"u\",\"Secret\":\"p\\u0041\"}"

    /// All commands that read, create or write a secret, ordered so that each finds what it needs.
    private static func verbs(_ home: TemporaryHome) -> [Verb] {
        var edit = Verb("edit", "kept")
        edit.environment = ["EDITOR": "/bin/true"]
        edit.drawsOnTerminal = true
        var typed = Verb("set", "typed", "--require", "none")
        typed.drawsOnTerminal = true
        return [
            Verb("set", "piped", "--require", "none", input: "secret of a pipe\n"),
            Verb("set", "piped", "--require", "none", "--replace", input: "another\n"),
            Verb("set", "large", "--require", "none", input: String(repeating: "x", count: 300_000)),
            Verb("set", "file", "--require", "none", "--from-file", "\(home.path)/secret"),
            Verb("get", "kept", output: "secret that is kept"),
            Verb("get", "kept", "--show", output: "secret that is kept"),
            Verb("generate", "made", "--require", "none", "--show"),
            Verb("generate", "words", "--require", "none", "--words", "6"),
            Verb(
                "run",
                "--env",
                "S=kept",
                "--",
                "/bin/sh",
                "-c",
                "echo \"$S\"",
                output: "secret that is kept\n"
            ),
            Verb(
                "run",
                "--mask",
                "--env",
                "S=kept",
                "--",
                "/bin/sh",
                "-c",
                "echo \"<$S>\"",
                output: "<<concealed by touchstone>>\n"
            ),
            Verb("inject", input: "a={{ touchstone://kept }}\n", output: "a=secret that is kept\n"),
            Verb("inject", "--out-file", "\(home.path)/out", "--replace", input: "a=touchstone://kept\n"),
            Verb("copy", "kept", "copied"),
            Verb("rename", "copied", "renamed"),
            Verb("delete", "renamed", "--yes"),
            Verb("set", "kept2", "--user", "u", "--require", "none", input: "x"),
            Verb("set", "kept2", "--field", "a", input: "b"),
            Verb("get", "kept2", "--field", "user", output: "u"),
            Verb("find", "--field", "user", "u"),
            Verb("totp", "code", "--add", "--require", "none", input: "JBSWY3DPEHPK3PXP"),
            Verb("totp", "code"),
            Verb("list"), Verb("find", "k"), Verb("show", "kept"), Verb("status"),
            Verb("git-credential", "store", input: credential + "password=p\n"),
            Verb("git-credential", "get", input: credential),
            Verb("git-credential", "erase", input: credential),
            Verb("docker-credential", "store", input: login),
            Verb("docker-credential", "get", input: "s.example"),
            Verb("docker-credential", "list"),
            Verb("docker-credential", "erase", input: "s.example"),
            Verb("---clipboard", "xclip", "/bin/true", "0", input: "secret"),
            Verb("backup", "\(home.path)/backup"), Verb("backup", "--list", "\(home.path)/secret"),
            Verb("backup", "--verify", "\(home.path)/secret"),
            Verb("backup", "--restore", "--merge", "\(home.path)/secret"), Verb("passcode"),
            Verb("passcode", "change"),
            Verb("apps"), Verb("apps", "list", "--json"),
            Verb("apps", "move", "/usr/bin/true", "/usr/bin/false", "--dry-run"),
            Verb("apps", "fingers", "/usr/bin/true", "off"), Verb("apps", "fingers", "/usr/bin/true", "on"),
            Verb("attest", "--nonce", "00ff"), Verb("attest", "--require", "passcode"),
            Verb("doctor"), Verb("doctor", "--json"),
            Verb("repair"), Verb("repair", "--accept"), Verb("repair", "--json"),
            Verb("setup"), Verb("setup", "--set-lockout-auth"),
            Verb("migrate"), Verb("migrate", "--export", "\(home.path)/export", "--replace"),
            Verb("migrate", "--import", "\(home.path)/secret"),
            Verb("recover"), Verb("lock"), Verb("unlock"),
            edit, typed,
        ]
    }

    private static func run(_ verb: Verb, in home: TemporaryHome, limit: Int?) async throws -> CommandResult {
        var run = CommandRun(home: home)
        var command = [Programs.touchstone] + verb.arguments
        if let limit {
            // CAP_IPC_LOCK overrides the limit.
            let lowered =
                geteuid() == 0 ? [Limiter.setpriv, "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"] : []
            command = [Limiter.prlimit, "--memlock=\(limit):\(limit)"] + lowered + command
        }
        run.program = command[0]
        run.arguments = Array(command.dropFirst())
        run.terminal = try PseudoTerminal()
        run.drawsOnTerminal = verb.drawsOnTerminal
        run.input = verb.drawsOnTerminal ? .terminal : verb.input.map { .octets(Array($0.utf8)) } ?? .nothing
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned].merging(verb.environment) { $1 }
        return try await run.run()
    }

    @Test("a command that fails prints an error with a hint and is never ended by a signal")
    func limits() async throws {
        let keychain = try await RealKeychain.ready()
        let home = keychain.home
        let stored = try await keychain.run("set", "kept", "--require", "none", input: "secret that is kept")
        try #require(stored.status == 0, "\(stored.errors)")
        try Data("secret of a file".utf8).write(to: URL(fileURLWithPath: home.path + "/secret"))
        // One secret-memory region is 64 KiB, and so is a chunk of a masked stream; a page is 4 KiB.
        let all = [0, 65_536, 4096, 131_072, 262_144, 524_288, 1 << 20]
        for limit in all.prefix(CaseSize.of(2, full: all.count)) {
            for verb in Self.verbs(home) {
                let shown = "\(verb.arguments.joined(separator: " ")) with \(limit) bytes"
                // The daemon is already running with a limit of its own, so only the command lacks memory.
                _ = try await keychain.run("status")
                // Without memory the command fails before it reads input; with memory somebody would have to
                // type.
                if limit > 4096, verb.drawsOnTerminal { continue }
                let result = try await Self.run(verb, in: home, limit: limit)
                #expect(result.signal == nil, "\(shown): \(result.errors)")
                if result.status == 0 {
                    if let output = verb.output { #expect(result.text == output, "\(shown)") }
                    continue
                }
                guard !verb.drawsOnTerminal, verb.arguments.first != "---clipboard" else {
                    #expect(result.status == 1, "\(shown)")
                    continue
                }
                let told = result.errors + result.text
                #expect(told.contains("locked memory") || limit > 0, "\(shown): \(told)")
                #expect(limit > 0 || result.status == 1, "\(shown): \(result.status ?? -1)")
                #expect(limit > 0 || told.contains("ulimit -l"), "\(shown): \(told)")
                // The error text contains no secret.
                #expect(!told.contains("secret that is kept"), "\(shown)")
            }
        }
        // No secret was lost.
        #expect(try await keychain.run("get", "kept").text == "secret that is kept")
    }
}
