import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// OpenSSH and git with the daemon as their ssh-agent, against sshd on the loopback interface.
@Suite(
    "ssh and git with the keychain's keys",
    .enabled(
        if: RealKeychain.isPossible && SSHServer.isPossible && Programs.isBuilt("/usr/bin/git"),
        "touchstone, touchstoned, sshd, ssh and git are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct SSHTests {
    private let directory: TemporaryDirectory
    private let keychain: RealKeychain
    private let publicKey: String

    init() async throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.appending(".ssh"),
            withIntermediateDirectories: true
        )
        keychain = try await RealKeychain.ready(variables: ["HOME": directory.path])
        let made = try await keychain.run("key", "create", "work", "--require", "passcode")
        publicKey = made.text.trimmingCharacters(in: .whitespacesAndNewlines)
        try #require(made.status == 0)
    }

    private func know(_ servers: SSHServer...) throws {
        try servers.map { $0.knownHost + "\n" }.joined()
            .write(toFile: directory.appending(".ssh/known_hosts"), atomically: true, encoding: .utf8)
    }

    /// The options of ssh for a server.
    private func options(_ server: SSHServer) -> [String] {
        [
            "-F", "/dev/null", "-p", "\(server.port)", "-o", "BatchMode=yes", "-o",
            "StrictHostKeyChecking=yes",
            "-o", "UserKnownHostsFile=\(directory.appending(".ssh/known_hosts"))",
        ]
    }

    private func run(_ program: String, _ arguments: [String], at terminal: PseudoTerminal? = nil)
        async throws
        -> CommandResult
    {
        var run = CommandRun(arguments: arguments, home: keychain.home)
        run.program = program
        run.terminal = try terminal ?? PseudoTerminal()
        run.environment = [
            "HOME": directory.path, "SSH_AUTH_SOCK": keychain.home.layout.agentSocket,
            "TOUCHSTONE_DAEMON": Programs.touchstoned, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "T",
            "GIT_AUTHOR_EMAIL": "t@example.org",
            "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.org",
        ]
        return try await run.run()
    }

    private func login(_ server: SSHServer, _ more: [String] = [], _ command: String = "echo in") async throws
        -> CommandResult
    {
        try await run(
            "/usr/bin/ssh",
            options(server) + more + ["\(SSHServer.user)@127.0.0.1", command]
        )
    }

    @Test(
        "a login asks once, at its terminal, and names the host; a cancelled one is refused; after a restart the first unlocks"
    )
    func login() async throws {
        let server = try await SSHServer(authorized: publicKey)
        try know(server)
        #expect(try await run("/usr/bin/ssh-add", ["-L"]).text == publicKey + "\n")
        let before = keychain.boxes.count
        let first = try await login(server)
        #expect(first.status == 0 && first.text == "in\n", "\(first.errors)")
        let box = try #require(keychain.boxes.last)
        #expect(keychain.boxes.count == before + 1)
        #expect(box.contains("Requested by the ssh-agent, for /usr/bin/ssh (process"))
        #expect(box.contains("\"Sign in as '\(SSHServer.user)' at '\(server.name)' with the key 'work'.\""))
        #expect(box.contains("- \"Host key: SHA256:"))

        try keychain.setCancels(true)
        let cancelled = try await login(server)
        #expect(cancelled.status == 255 && cancelled.errors.contains("agent refused operation"))
        try keychain.setCancels(false)

        try keychain.stop(with: SIGTERM)
        #expect(try await keychain.run("key", "agent").status == 0)
        let prompts = keychain.boxes.count
        #expect(try await login(server).status == 0)
        #expect(keychain.boxes.count == prompts + 1)
        let log = try await keychain.run("log").text
        #expect(log.contains("ssh login '\(SSHServer.user)'@\(server.name) SHA256:"), "\(log)")
    }

    @Test("through a forwarded agent the box names the last host, and the one on the way")
    func forwarded() async throws {
        let (near, far) = (
            try await SSHServer(authorized: publicKey), try await SSHServer(authorized: publicKey)
        )
        try know(near, far)
        let inner = (["/usr/bin/ssh"] + options(far) + ["\(SSHServer.user)@127.0.0.1", "echo far"])
            .joined(separator: " ")
        let before = keychain.boxes.count
        let result = try await login(near, ["-A"], inner)
        #expect(result.status == 0 && result.text == "far\n", "\(result.errors)")
        #expect(keychain.boxes.count == before + 2)
        let box = try #require(keychain.boxes.last)
        #expect(box.contains("at '\(far.name)' with the key"))
        #expect(box.contains("- \"Forwarded through: \(near.name)\""))
    }

    @Test("a key for one host is of no use at another")
    func hosts() async throws {
        let (here, there) = (
            try await SSHServer(authorized: publicKey), try await SSHServer(authorized: publicKey)
        )
        try know(here, there)
        let made = try await keychain.run(
            "key",
            "create",
            "deploy",
            "--require",
            "passcode",
            "--for",
            here.name
        )
        #expect(made.status == 0, "\(made.errors)")
        let deploy = made.text.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(try await keychain.run("key", "list").text.contains("\t\(here.name)\t"))
        #expect(try await keychain.run("key", "delete", "work", "--yes").status == 0)
        for server in [here, there] { try server.authorize(deploy) }
        let before = keychain.boxes.count
        let refused = try await login(there)
        #expect(refused.status == 255 && keychain.boxes.count == before, "\(refused.errors)")
        #expect(try await login(here).status == 0)
        #expect(keychain.boxes.last?.contains("at '\(here.name)' with the key 'deploy'.") == true)
    }

    @Test("with a certificate of an authority the server need not know the key")
    func certificate() async throws {
        let server = try await SSHServer(authorized: "")
        try know(server)
        #expect(try await login(server).status == 255)
        let file = directory.appending("work.pub")
        try (publicKey + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let certificate = try await server.certify(file)
        let options = ["-o", "IdentityFile=\(file)", "-o", "CertificateFile=\(certificate)"]
        let result = try await login(server, options)
        #expect(result.status == 0 && result.text == "in\n", "\(result.errors)")
    }

    // MARK: git

    /// git in a repository that signs with a key.
    private func git(_ arguments: String...) async throws -> CommandResult {
        try await run("/usr/bin/git", ["-C", directory.appending("repository")] + arguments)
    }

    private func makeRepository(signingBy key: String) async throws {
        let signers = directory.appending("signers")
        try "t@example.org \(publicKey)\n".write(toFile: signers, atomically: true, encoding: .utf8)
        #expect(try await run("/usr/bin/git", ["init", "-q", directory.appending("repository")]).status == 0)
        for (name, value) in [
            ("gpg.format", "ssh"), ("user.signingkey", key), ("gpg.ssh.allowedSignersFile", signers),
        ] {
            #expect(try await git("config", name, value).status == 0)
        }
    }

    @Test("git signs a commit by the agent, whose box has the namespace, and verifies it")
    func commit() async throws {
        try await makeRepository(signingBy: "key::\(publicKey)")
        let before = keychain.boxes.count
        let commit = try await git("commit", "-q", "--allow-empty", "-S", "-m", "signed")
        #expect(commit.status == 0, "\(commit.errors)")
        #expect(keychain.boxes.count == before + 1)
        let box = try #require(keychain.boxes.last)
        #expect(box.contains("\"Sign for 'git' with the key 'work'.\""))
        #expect(box.contains("\nStarted by git"), "\(box)")
        let verified = try await git("verify-commit", "HEAD")
        #expect(verified.status == 0, "\(verified.errors)")
    }

    /// Has git sign by `touchstone-git-sign`.
    private func useGitSign() async throws {
        let program = directory.appending("touchstone-git-sign")
        try FileManager.default.createSymbolicLink(
            atPath: program,
            withDestinationPath: Programs.touchstone
        )
        #expect(try await git("config", "gpg.ssh.program", program).status == 0)
    }

    @Test(
        "touchstone-git-sign shows subject, directory and files of a commit and the name of a tag, and git verifies both"
    )
    func shown() async throws {
        let file = directory.appending("work.pub")
        try (publicKey + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        try await makeRepository(signingBy: file)
        try await useGitSign()
        for (number, name) in ["first", "a\u{1B}[2J", "third"].enumerated() {
            try "\(number)\n".write(
                toFile: directory.appending("repository/\(name)"),
                atomically: true,
                encoding: .utf8
            )
            #expect(try await git("add", ".").status == 0)
            let before = keychain.boxes.count
            let commit = try await git("commit", "-q", "-S", "-m", "Add \(name)\n\nMore.")
            #expect(commit.status == 0, "\(commit.errors)")
            #expect(keychain.boxes.count == before + 1)
            let box = try #require(keychain.boxes.last)
            let drawn = name.filter { $0 != "\u{1B}" }
            #expect(box.contains("Sign the commit 'Add ") && box.contains("with the key 'work'."), "\(box)")
            #expect(box.contains(drawn) || number == 1)
            #expect(!box.contains("\u{1B}"))
            #expect(box.contains("- \"In: \(directory.appending("repository"))\""))
            #expect(box.contains("- \"Files: "))
            #expect(try await git("verify-commit", "HEAD").status == 0)
        }
        #expect(keychain.boxes.last?.contains("- \"Files: third\"") == true)
        let tag = try await git("tag", "-s", "-m", "The first.", "v1")
        #expect(tag.status == 0, "\(tag.errors)")
        #expect(keychain.boxes.last?.contains("Sign the tag 'v1' with the key 'work'.") == true)
        #expect(try await git("verify-tag", "v1").status == 0)

        try keychain.setCancels(true)
        let cancelled = try await git("commit", "-q", "--allow-empty", "-S", "-m", "no")
        #expect(cancelled.status != 0 && cancelled.errors.contains("cancelled"), "\(cancelled.errors)")
        try keychain.setCancels(false)
        let log = try await keychain.run("log").text
        #expect(log.contains("namedKeyUsed") && log.contains("Sign the tag 'v1'"), "\(log)")
    }

    @Test("another key goes to ssh-keygen, and a key for hosts signs no commit")
    func others() async throws {
        let file = directory.appending("own")
        #expect(
            try await run("/usr/bin/ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", file]).status == 0
        )
        try await makeRepository(signingBy: file)
        try await useGitSign()
        let before = keychain.boxes.count
        let commit = try await git("commit", "-q", "--allow-empty", "-S", "-m", "own")
        #expect(commit.status == 0, "\(commit.errors)")
        #expect(try await git("cat-file", "commit", "HEAD").text.contains("BEGIN SSH SIGNATURE"))

        let server = try await SSHServer(authorized: publicKey)
        try know(server)
        let made = try await keychain.run(
            "key",
            "create",
            "deploy",
            "--require",
            "none",
            "--for",
            server.name
        )
        try made.text.write(toFile: directory.appending("deploy.pub"), atomically: true, encoding: .utf8)
        #expect(try await git("config", "user.signingkey", directory.appending("deploy.pub")).status == 0)
        let refused = try await git("commit", "-q", "--allow-empty", "-S", "-m", "no")
        #expect(refused.status != 0 && refused.errors.contains("the key 'deploy' is for hosts alone"))
        #expect(keychain.boxes.count == before)
    }
}
