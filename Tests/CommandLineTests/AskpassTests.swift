import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// `touchstone askpass`, under its link's name.
///
/// The cells: each prompt of OpenSSH and sudo; a server's own text; a question for a person; a wrong passphrase; a caller that is root
/// and one that is not; a secret that is not there, and a cancelled box.
@Suite(
    "Passwords of ssh and sudo",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct AskpassTests {
    private let keychain: RealKeychain
    private let program: String

    init() async throws {
        keychain = try await RealKeychain.ready()
        program = keychain.home.path + "/touchstone-askpass"
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: Programs.touchstone)
    }

    private func run(
        _ program: String,
        _ arguments: String...,
        variables: [String: String] = [:]
    ) async throws -> CommandResult {
        var run = CommandRun(arguments: arguments, home: keychain.home)
        run.program = program
        run.terminal = try PseudoTerminal()
        run.environment = [
            "TOUCHSTONE_DAEMON": Programs.touchstoned, "HOME": keychain.home.path, "DISPLAY": ":7316",
        ].merging(variables) { $1 }
        return try await run.run()
    }

    private func store(_ name: String, _ value: String, require: String = "none") async throws {
        #expect(try await keychain.run("set", name, "--require", require, input: value).status == 0)
    }

    @Test("each prompt of ssh is for one secret, whose first line is written")
    func prompts() async throws {
        try await store("ssh:me@host.example", "password\nnote\n")
        try await store("ssh:/home/me/.ssh/my key", "passphrase")
        for prompt in [
            "me@host.example's password: ", "(me@host.example) Password: ",
            "(me@host.example) Password for me@host.example: ",
        ] {
            let result = try await run(program, prompt)
            #expect(result.status == 0 && result.text == "password\n", "\(prompt): \(result.errors)")
        }
        for prompt in [
            "Enter passphrase for key '/home/me/.ssh/my key': ",
            "Enter passphrase for /home/me/.ssh/my key: ",
            "Enter passphrase for /home/me/.ssh/my key (will confirm each use): ",
        ] {
            let result = try await run(program, prompt)
            #expect(result.status == 0 && result.text == "passphrase\n", "\(prompt): \(result.errors)")
        }
        let longest = String(repeating: "x", count: 1023)
        try await store("ssh:a@long", longest)
        #expect(try await run(program, "a@long's password: ").text == longest + "\n")
        for (name, value) in [("ssh:a@longer", longest + "x"), ("ssh:a@empty", "\nx")] {
            try await store(name, value)
            let result = try await run(program, "\(name.dropFirst(4))'s password: ")
            #expect(result.status == 1 && result.text.isEmpty && result.errors.contains("1023"), "\(name)")
        }
        let missing = try await run(program, "you@host.example's password: ")
        #expect(missing.status == 3 && missing.errors.contains("ssh:you@host.example"), "\(missing.errors)")
    }

    @Test("a question for a person, and a server's own text, get nothing and no box")
    func refused() async throws {
        try await store("ssh:me@host.example", "password", require: "passcode")
        try await store("sudo", "sudo's", require: "passcode")
        let boxes = keychain.boxes.count
        for prompt in [
            "The authenticity of host 'host.example' can't be established.\nAre you sure you want to continue connecting (yes/no)? ",
            "Bad passphrase, try again for /home/me/.ssh/key: ", "Enter passphrase for key '': ",
            "Password: ",
            // By keyboard-interactive authentication of another host.
            "(me@evil.example) me@host.example's password: ", "(me@evil.example) [sudo] password for me: ",
            "(me@evil.example) x (me@host.example) Password: ", "x\nme@host.example's password: ",
            "@host's password: ", "",
        ] {
            let result = try await run(program, prompt)
            #expect(result.status == 1 && result.text.isEmpty, "\(prompt)")
            #expect(result.errors.contains("for a person"), "\(prompt): \(result.errors)")
        }
        for kind in ["confirm", "none"] {
            let result = try await run(
                program,
                "me@host.example's password: ",
                variables: ["SSH_ASKPASS_PROMPT": kind]
            )
            #expect(result.status == 1 && result.text.isEmpty)
        }
        #expect(keychain.boxes.count == boxes)
        try keychain.setCancels(true)
        let cancelled = try await run(program, "me@host.example's password: ")
        #expect(cancelled.status == 4 && cancelled.text.isEmpty)
    }

    @Test(
        "sudo's password is for a caller that is root already",
        .enabled(if: geteuid() == 0, "needs root")
    )
    func sudo() async throws {
        try await store("sudo", "secret", require: "passcode")
        for prompt in ["[sudo] password for me: ", "[sudo] Passwort für me: "] {
            let before = keychain.boxes.count
            let result = try await run(program, prompt)
            #expect(result.status == 0 && result.text == "secret\n", "\(result.errors)")
            #expect(keychain.boxes.count == before + 1)
            #expect(keychain.boxes.last?.contains("Give sudo the password 'sudo'.") == true)
        }
        let before = keychain.boxes.count
        // The caller is a shell of another user.
        let refused = try await run(
            "/usr/bin/setpriv",
            "--reuid=64811",
            "--clear-groups",
            "/bin/sh",
            "-c",
            "\(Programs.touchstone) askpass '[sudo] password for me: '; echo status=$?"
        )
        #expect(refused.text == "status=1\n" && refused.errors.contains("not sudo"), "\(refused.errors)")
        #expect(keychain.boxes.count == before)
    }

    @Test("ssh-add takes a key with it, and a wrong passphrase ends it after one box")
    func keys() async throws {
        let key = keychain.home.path + "/key"
        let made = try await run("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "right one", "-f", key)
        #expect(made.status == 0, "\(made.errors)")
        try await store("ssh:" + key, "right one", require: "passcode")
        let variables = ["SSH_ASKPASS": program, "SSH_ASKPASS_REQUIRE": "force"]
        let script = "ssh-add \(key) && ssh-add -l"
        let before = keychain.boxes.count
        let added = try await run("/usr/bin/ssh-agent", "/bin/sh", "-c", script, variables: variables)
        #expect(added.status == 0 && added.text.contains("ED25519"), "\(added.errors)")
        #expect(keychain.boxes.count == before + 1)
        #expect(try await keychain.run("set", "ssh:" + key, "--replace", input: "wrong").status == 0)
        let boxes = keychain.boxes.count
        let refused = try await run("/usr/bin/ssh-agent", "/bin/sh", "-c", script, variables: variables)
        #expect(refused.status == 1 && !refused.text.contains("ED25519"), "\(refused.text)")
        #expect(keychain.boxes.count == boxes + 1)
    }
}
