import Foundation
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// git itself, with `touchstone` as its credential helper, against a server that requires a password.
@Suite(
    "git clone, fetch and push",
    .enabled(
        if: RealKeychain.isPossible && GitServer.isPossible,
        "touchstone, touchstoned, git-http-backend and python3 are not all there"
    )
)
struct GitCloneTests {
    /// A keychain with a checkout beside it.
    private struct Person {
        let keychain: RealKeychain
        let server: GitServer

        init() async throws {
            keychain = try await RealKeychain.ready()
            server = try await GitServer()
            try FileManager.default.createDirectory(
                atPath: keychain.home.path + "/bin",
                withIntermediateDirectories: true
            )
            try FileManager.default.createSymbolicLink(
                atPath: keychain.home.path + "/bin/git-credential-touchstone",
                withDestinationPath: Programs.touchstone
            )
        }

        /// Runs git; an askpass program answers with `typed`.
        func git(
            _ arguments: String...,
            input: String = "",
            typed: (user: String, password: String)? = nil,
            require: String = "none"
        ) async throws -> CommandResult {
            try await git(all: arguments, input: input, typed: typed, require: require)
        }

        /// The same with the arguments as an array.
        func git(
            all arguments: [String],
            input: String = "",
            typed: (user: String, password: String)? = nil,
            require: String = "none"
        ) async throws -> CommandResult {
            let home = keychain.home.path
            let answers = """
                #!/bin/sh
                echo "$1" >> \(home)/asked
                case "$1" in Username*) echo '\(typed?.user ?? "")' ;; *) echo '\(typed?.password ?? "")' ;; esac
                exit \(typed == nil ? 1 : 0)
                """
            try answers.write(toFile: home + "/askpass", atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: home + "/askpass")
            var run = CommandRun(
                arguments: ["-c", "credential.helper=touchstone"] + arguments,
                home: keychain.home
            )
            run.program = "/usr/bin/git"
            run.input = .octets(Array(input.utf8))
            run.terminal = try PseudoTerminal()
            run.environment = [
                "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(home)/bin:/usr/bin:/bin", "HOME": home,
                "GIT_ASKPASS": home + "/askpass", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "T",
                "GIT_COMMITTER_EMAIL": "t@example.org", "TOUCHSTONE_CREDENTIAL_REQUIRE": require,
            ]
            return try await run.run()
        }

        func clone(_ name: String, typed: (user: String, password: String)? = nil) async throws
            -> CommandResult
        {
            try await git(
                "clone",
                "-q",
                server.address + "/project.git",
                keychain.home.path + "/" + name,
                typed: typed
            )
        }

        func file(_ name: String) -> String? {
            try? String(contentsOfFile: keychain.home.path + "/\(name)/file", encoding: .utf8)
        }

        /// The number of times git called the askpass program.
        var questions: Int {
            let text = (try? String(contentsOfFile: keychain.home.path + "/asked", encoding: .utf8)) ?? ""
            return text.split(separator: "\n").count
        }
    }

    @Test("approved credentials, typed or stored, are reused without asking again")
    func approved() async throws {
        let person = try await Person()
        let typed = (GitServer.user, GitServer.password)
        let first = try await person.clone("first", typed: typed)
        #expect(first.status == 0 && person.file("first") == "of the server\n", "\(first)")
        #expect(person.questions == 2)
        #expect(person.server.requests().first == "none" && person.server.requests().contains("right"))
        let list = try await person.keychain.run("list").text
        let host = person.server.address.replacing("http://", with: "")
        #expect(list.contains("git:http://\(GitServer.user)@\(host)\t"), "\(list)")

        let second = try await person.clone("second")
        #expect(second.status == 0 && person.file("second") == "of the server\n", "\(second)")
        let checkout = person.keychain.home.path + "/second"
        try "of the person\n".write(toFile: checkout + "/file", atomically: true, encoding: .utf8)
        #expect(try await person.git("-C", checkout, "commit", "-qam", "second").status == 0)
        let push = try await person.git("-C", checkout, "push", "-q", "origin", "main")
        #expect(push.status == 0, "\(push)")
        let pull = try await person.git("-C", person.keychain.home.path + "/first", "pull", "-q")
        #expect(pull.status == 0 && person.file("first") == "of the person\n", "\(pull)")
        #expect(person.questions == 2)
        #expect(!person.server.requests().contains("wrong"))
    }

    @Test("a path longer than a secret's name has its own credentials, which are reused without asking again")
    func longPath() async throws {
        let person = try await Person()
        let home = person.keychain.home.path
        let long = "\(person.server.address)/\(GitServer.longPath)/project.git"
        let short = person.server.address + "/project.git"
        let byPath = ["-c", "credential.useHttpPath=true", "clone", "-q"]
        func clone(_ address: String, _ name: String, isTyped: Bool) async throws -> CommandResult {
            let typed = isTyped ? (GitServer.user, GitServer.password) : nil
            return try await person.git(all: byPath + [address, "\(home)/\(name)"], typed: typed)
        }
        let first = try await clone(long, "first", isTyped: true)
        #expect(first.status == 0 && person.file("first") == "of the server\n", "\(first)")
        #expect(person.questions == 2)
        let again = try await clone(long, "again", isTyped: false)
        #expect(again.status == 0 && person.file("again") == "of the server\n", "\(again)")
        #expect(person.questions == 2)
        let other = try await clone(short, "other", isTyped: false)
        #expect(other.status == 128, "\(other)")
        #expect(try await clone(short, "other", isTyped: true).status == 0)
        let list = try await person.keychain.run("list").text.split(separator: "\n")
        #expect(list.count { $0.contains("%SHA-256:") } == 1 && list.count == 2, "\(list)")
    }

    @Test("credentials that the server rejects are forgotten, and newly typed ones are used")
    func refused() async throws {
        let person = try await Person()
        let host = person.server.address.replacing("http://", with: "")
        let stale = "protocol=http\nhost=\(host)\nusername=\(GitServer.user)\npassword=stale\n"
        #expect(try await person.git("credential", "approve", input: stale).status == 0)
        let failed = try await person.clone("failed")
        #expect(failed.status == 128, "\(failed)")
        #expect(person.server.requests().contains("wrong"))
        // git rejects the credentials that the server refused, so they are removed.
        #expect(try await !person.keychain.run("list").text.contains("git:"))
        let right = try await person.clone("right", typed: (GitServer.user, GitServer.password))
        #expect(right.status == 0, "\(right)")
        #expect(try await person.clone("again").status == 0)
    }

    @Test("a cancelled prompt ends git's command: git asks for no password, and nothing is forgotten")
    func cancelled() async throws {
        let person = try await Person()
        let host = person.server.address.replacing("http://", with: "")
        let right =
            "protocol=http\nhost=\(host)\nusername=\(GitServer.user)\npassword=\(GitServer.password)\n"
        let approved = try await person.git("credential", "approve", input: right, require: "passcode")
        #expect(approved.status == 0, "\(approved)")
        try person.keychain.setCancels(true)
        let cancelled = try await person.clone("cancelled", typed: ("mallory", "no"))
        #expect(cancelled.status == 128)
        #expect(cancelled.errors.contains("told us to quit"), "\(cancelled)")
        #expect(person.questions == 0)
        #expect(person.file("cancelled") == nil)
        try person.keychain.setCancels(false)
        let clone = try await person.clone("clone")
        #expect(clone.status == 0 && person.file("clone") == "of the server\n", "\(clone)")
        #expect(person.questions == 0)
    }
}
