import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Text of others in what is shown, written as JSON, or to be pasted into a shell.
@Suite("Names, paths and hosts of others in output")
struct ForeignTextTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    /// What a terminal does not show as it is: control characters with C1, and those that reorder or hide text.
    private static let harmful: [Unicode.Scalar] =
        [
            0x07, 0x0A, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9D, 0xAD, 0x061C, 0x200B, 0x200E, 0x200F, 0x2028,
            0x2029,
        ]
        .compactMap(Unicode.Scalar.init)
        + (0x202A...0x202E).compactMap { Unicode.Scalar($0 as UInt32) }
        + [0x2060...0x2064, 0x2066...0x206F].joined().compactMap { Unicode.Scalar($0 as UInt32) }
        + [0xFEFF, 0xFFF9, 0xE0001, 0xE0041].compactMap(Unicode.Scalar.init)

    private static let names = harmful.map { "a\($0)b" }

    private func keychain() throws -> ScriptedKeychain {
        try ScriptedKeychain(
            home,
            Dictionary(
                uniqueKeysWithValues: Self.names.map { ($0, .init(octets: Array("x".utf8), flags: [])) }
            )
        )
    }

    private func isHarmless(_ octets: [UInt8]) -> Bool {
        String(decoding: octets, as: UTF8.self).unicodeScalars.allSatisfy { scalar in
            scalar == "\n" || scalar == "\t" || !Self.harmful.contains(scalar)
        }
    }

    @Test(
        "lists and JSON hold no character that a terminal does not show as it is, and JSON holds every name"
    )
    func lists() async throws {
        let keychain = try keychain()
        for arguments in [["list"], ["list", "--json"], ["find", "a"], ["find", "a", "--json"]] {
            let result = try await CommandRun(arguments: arguments, home: home).run()
            #expect(result.status == 0)
            #expect(isHarmless(result.output), "\(arguments)")
            guard arguments.contains("--json") else { continue }
            let list = try #require(
                JSONSerialization.jsonObject(with: Data(result.output)) as? [[String: Any]]
            )
            #expect(
                Set(list.compactMap { $0["name"] as? String }.map { Array($0.utf8) })
                    == Set(Self.names.map { Array($0.utf8) })
            )
        }
        for name in ["a\u{202E}b", "a\u{200B}b"] {
            let shown = try await CommandRun("show", name, "--json", home: home).run()
            #expect(shown.status == 0 && isHarmless(shown.output))
            let missing = try await CommandRun("get", name + "c", home: home).run()
            #expect(missing.status == 3 && isHarmless(Array(missing.errors.utf8)))
        }
        _ = keychain
    }

    @Test(
        "questions on the terminal hold none either",
        arguments: ["a\u{202E}b", "a\u{2066}b", "a\u{FEFF}b"]
    )
    func questions(name: String) async throws {
        for command in ["set", "delete"] {
            let keychain = try keychain()
            let terminal = try PseudoTerminal()
            var run = CommandRun(
                arguments: [command, name] + (command == "set" ? ["--replace"] : []),
                home: home
            )
            run.terminal = terminal
            run.input = .terminal
            run.drawsOnTerminal = true
            let started = try run.start()
            try await terminal.wait(for: command == "set" ? "Secret for 'a\\u{" : "Delete 'a\\u{")
            terminal.press(.endOfFile)
            #expect(await started.result().status == 4)
            #expect(
                !terminal.octets.isEmpty && isHarmless(terminal.octets.filter { $0 != 0x0D && $0 != 0x07 })
            )
            _ = keychain
        }
    }

    /// Names of metacharacters, with what a shell would run, and with what divides hints.
    private static let metacharacters =
        "$`\"'\\!*?[]{}()<>|&;~#=^%@:/ ,+".map { "x\($0)y" }
        + "$`\"'\\!*?[]{}()<>|&;~#=^%@:/ ,+".map { "\($0)y" }
        + [
            "$(touch ran)", "`touch ran`", "a; touch ran", "-dash", "--yes", "a; touchstone set x", "é 日本",
            "a\u{202E}b",
        ]

    @Test("the command in a hint names the secret in every shell", arguments: ["bash", "zsh", "fish"])
    func hints(shell: String) async throws {
        let fault = KeychainError(.itemNotFound, cause: DriverCause(.invalidated))
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true { try peer.refuse(peer.next(), fault) }
        }
        var lines: [(name: String, line: String)] = []
        for name in Self.metacharacters {
            let result = try await CommandRun("get", "--", name, home: home).run()
            let hint = result.errors.split(separator: "\n").first { $0.hasPrefix("hint: ") }
            let start = try #require(hint?.range(of: "touchstone set --replace "), "\(result.errors)")
            lines.append((name, String(hint?[start.lowerBound...] ?? "")))
            var edit = CommandRun("edit", "--", name, home: home)
            edit.environment = ["EDITOR": "true"]
            let other = try await edit.run()
            #expect(other.errors.contains(lines.last?.line ?? "?"), "\(other.errors)")
        }
        // fish has no $'…'.
        lines.removeAll { shell == "fish" && $0.line.contains("$'") }
        let function =
            shell == "fish"
            ? "function touchstone; printf '%s\\0' $argv[-1]; end"
            : "touchstone() { shift $(($# - 1)); printf '%s\\0' \"$1\"; }"
        var run = CommandRun("-c", ([function] + lines.map(\.line)).joined(separator: "\n"), home: home)
        run.program = "/usr/bin/" + shell
        run.environment = ["LC_ALL": "C.UTF-8", "HOME": home.path]
        let result = try await run.run()
        let read = result.output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        #expect(read == lines.map(\.name), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: "ran"))
        _ = daemon
    }

    @Test("a hint that quotes a name is not cut at what divides hints")
    func divided() async throws {
        let fault = KeychainError(.itemNotFound, cause: DriverCause(.invalidated))
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true { try peer.refuse(peer.next(), fault) }
        }
        var run = CommandRun("set", "a; rm -rf /", "--replace", home: home)
        run.input = .octets([0x31])
        let result = try await run.run()
        #expect(
            result.errors.hasSuffix("hint: store it again: touchstone set --replace a\\;\\ rm\\ -rf\\ /\n")
        )
        _ = daemon
    }

    @Test("docker's helper refuses a server with a line break, and escapes what a terminal does not show")
    func docker() async throws {
        guard RealKeychain.isPossible else { return }
        let keychain = try await RealKeychain.ready()
        let broken = try await keychain.run(
            "docker-credential",
            "store",
            input: #"{"ServerURL":"a.example\nb.example","Username":"me","Secret":"s"}"#
        )
        #expect(broken.status == 1 && broken.text.contains("has a line break"))
        #expect(try await keychain.run("docker-credential", "list").text == "{}\n")
        let server = "reg\u{9B}31m\u{202E}\u{1F511}.example"
        let stored = try await keychain.run(
            "docker-credential",
            "store",
            input: #"{"ServerURL":"\#(server)","Username":"m\u001b\u0085é","Secret":"s\u0007\u202e"}"#
        )
        #expect(stored.status == 0, "\(stored.text)")
        let list = try await keychain.run("docker-credential", "list")
        #expect(isHarmless(list.output))
        #expect(
            try JSONSerialization.jsonObject(with: Data(list.output)) as? [String: String] == [
                server: "m\u{1B}\u{85}é"
            ]
        )
        let got = try await keychain.run("docker-credential", "get", input: server)
        #expect(isHarmless(got.output))
        let members = try JSONSerialization.jsonObject(with: Data(got.output)) as? [String: String]
        #expect(members == ["ServerURL": server, "Username": "m\u{1B}\u{85}é", "Secret": "s\u{7}\u{202E}"])
    }

    @Test("without a free descriptor for its arguments the command fails with status 1")
    func noDescriptor() async throws {
        let trace = home.path + "/trace"
        func run(_ options: [String]) async throws -> CommandResult {
            var run = CommandRun(
                arguments: ["-o", trace, "-e", "trace=openat"] + options + [
                    Programs.touchstone, "get", "mail",
                ],
                home: home
            )
            run.program = "/usr/bin/strace"
            return try await run.run()
        }
        _ = try await run([])
        // Swift's runtime looks for the arguments on the stack, which this file names.
        let opened = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
        let number = try #require(
            opened.firstIndex { $0.contains("\"/proc/self/maps\"") || $0.contains("/cmdline\"") }
        )
        let result = try await run(["-e", "inject=openat:error=EMFILE:when=\(number + 1)+"])
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        #expect(
            result.errors.hasPrefix(
                "error: the command's arguments cannot be read: no file descriptor is free\nhint: "
            )
        )
    }
}
