import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The cells: no key, one, two; finger, passcode, either, none; terminal, pipe, JSON; a taken name, a missing one, one with a control
/// character; a known host, an unknown one; sh, fish, csh; the daemon there, and not.
@Suite(
    "touchstone key",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .timeLimit(.minutes(20))
)
struct KeyTests {
    private let keychain: RealKeychain

    init() async throws {
        let home = try TemporaryDirectory()
        keychain = try await RealKeychain.ready(variables: ["HOME": home.path, "SHELL": "/bin/bash"])
    }

    private func run(_ arguments: String...) async throws -> CommandResult {
        try await keychain.run(all: ["key"] + arguments)
    }

    private func listed() async throws -> [[String: Any]] {
        let result = try await run("list", "--json")
        let json = try JSONSerialization.jsonObject(with: Data(result.text.utf8))
        return try #require(json as? [[String: Any]])
    }

    @Test("a key is made, shown in each form, renamed and deleted; none of it asks for anything")
    func story() async throws {
        #expect(try await listed().isEmpty)
        let prompts = keychain.prompts
        let made = try await run("create", "work")
        #expect(made.status == 0 && made.text.hasPrefix("ecdsa-sha2-nistp256 AAAA"))
        #expect(made.text.hasSuffix(" work\n"))
        #expect(made.errors.contains("Made the key 'work', in software. ssh finds it by: eval"))
        #expect(try await run("create", "night", "--require", "none", "--when", "first-unlock").status == 0)

        let rows = try await run().text.split(separator: "\n").map {
            $0.split(separator: "\t").map(String.init)
        }
        #expect(
            rows.map { Array($0.prefix(4)) } == [
                ["work", "either", "software", "any"], ["night", "none", "software", "any"],
            ]
        )
        #expect(try await run("show", "work").text == made.text)
        let fingerprint = try await run("show", "work", "--format", "fingerprint").text
        #expect(fingerprint.hasPrefix("SHA256:") && rows[0].last == fingerprint.dropLast().description)
        let pem = try await run("show", "work", "--format", "pem").text
        #expect(pem.hasPrefix("-----BEGIN PUBLIC KEY-----\n") && pem.hasSuffix("-----END PUBLIC KEY-----\n"))
        let uri = try await run("show", "work", "--format", "uri").text
        #expect(uri == "pkcs11:token=Touchstone;object=work;type=private\n")
        let json = try await listed()
        #expect(json.map { $0["name"] as? String } == ["work", "night"])
        #expect(json[0]["uri"] as? String == uri.dropLast().description)
        #expect(json[0]["ssh"] as? String == made.text.dropLast().description)
        #expect(json[0]["hosts"] as? [String] == [])

        for (words, offered) in [
            (["show", ""], "work\nnight"), (["delete", ""], "work\nnight"), (["create", ""], ""),
            (["show", "work", "--format", ""], "ssh\npem\nfingerprint\nuri"),
        ] {
            let answer = try await keychain.run(all: ["---complete", "zsh", "key"] + words)
            #expect(
                answer.text.split(separator: "\n").dropFirst().joined(separator: "\n") == offered,
                "\(words)"
            )
        }

        #expect(try await run("rename", "work", "office").status == 0)
        #expect(try await run("show", "office", "--format", "fingerprint").text == fingerprint)
        #expect(try await run("delete", "office", "--yes").status == 0)
        #expect(try await listed().map { $0["name"] as? String } == ["night"])
        #expect(keychain.prompts == prompts)
    }

    @Test(
        "taken and missing names, wrong words and unknown hosts are errors with their exit status and a hint"
    )
    func errors() async throws {
        #expect(try await run("create", "work").status == 0)
        let taken = try await run("create", "work")
        #expect(taken.status == 10 && taken.errors.contains("there is a key named 'work' already"))
        #expect(try await run("create", "other", "--require", "presence").status == 0)
        #expect(try await run("rename", "work", "other").status == 10)
        for arguments in [["show", "gone"], ["rename", "gone", "new"], ["delete", "gone", "-y"]] {
            let missing = try await keychain.run(all: ["key"] + arguments)
            #expect(missing.status == 3 && missing.errors.contains("no key named 'gone'"), "\(arguments)")
            #expect(missing.errors.contains("hint: touchstone key list"), "\(arguments)")
        }
        let unknown = try await run("create", "deploy", "--for", "git.example.org")
        #expect(unknown.status == 3 && unknown.errors.contains("git.example.org is not in known_hosts"))
        #expect(try await run("create", "a\u{1B}[2J").status == 64)
        #expect(try await run("create", "x", "--require", "face").status == 64)
        #expect(try await listed().count == 2)
    }

    @Test("the agent's place is told in the words of the shell, and a stopped daemon is started for it")
    func agent() async throws {
        try keychain.stop(with: SIGTERM)
        let socket = keychain.home.layout.agentSocket
        #expect(access(socket, F_OK) != 0)
        #expect(try await run("agent").text == "SSH_AUTH_SOCK=\(socket); export SSH_AUTH_SOCK;\n")
        #expect(access(socket, F_OK) == 0)
        #expect(try await run("agent", "--path").text == socket + "\n")
        var status = stat()
        #expect(stat(socket, &status) == 0 && status.st_mode & 0o777 == 0o600)
        for (shell, line) in [
            ("/usr/bin/fish", "set -gx SSH_AUTH_SOCK \(socket);\n"),
            ("/bin/tcsh", "setenv SSH_AUTH_SOCK \(socket);\n"),
        ] {
            var run = CommandRun("key", "agent", home: keychain.home)
            run.environment = ["SHELL": shell, "TOUCHSTONE_DAEMON": Programs.touchstoned]
            #expect(try await run.run().text == line)
        }
        try keychain.stop(with: SIGTERM)
        #expect(access(socket, F_OK) != 0)
    }
}
