import Foundation
import TouchstoneTesting

/// The scenes of the demo, in order.
struct Scene: ~Copyable {
    let machine: Machine
    let bus: PrivateBus
    var transcript: Transcript
    private var touches = 100

    var shell: Shell { machine.shell }

    init(_ machine: Machine, bus: PrivateBus, transcript: consuming Transcript) {
        self.machine = machine
        self.bus = bus
        self.transcript = transcript
    }

    // MARK: Set-up

    mutating func enrolAndSetUp(_ finger: SyntheticFinger, passcode: String) async throws {
        transcript.step("Enrol the right index finger, through fprintd as the desktop's settings do")
        let count = try await Enroller(bus).enrol(finger, as: "right-index-finger")
        transcript.done("enrolled with \(count) touches")

        transcript.step(
            "touchstone setup: the daemon starts, the passcode is asked for twice, a recovery code shown"
        )
        let outcome = try await shell.run("setup") { terminal in
            for _ in 0..<2 {
                _ = try await terminal.wait(forAnyOf: ["Passcode:", "Again:"])
                terminal.type(passcode)
                terminal.press(.enter)
            }
            try await terminal.wait(for: "not shown again")
            let code = try await Self.recoveryCode(on: terminal)
            terminal.press(.enter)
            try await terminal.wait(for: "Recovery code:")
            terminal.type(code)
            terminal.press(.enter)
        }
        try expect(outcome, status: 0)
        transcript.done(outcome.output.split(whereSeparator: \.isNewline).first.map(String.init) ?? "")
        for line in outcome.output.split(whereSeparator: \.isNewline).dropFirst() {
            transcript.quote(String(line))
        }
    }

    /// The recovery code in groups of four symbols of Crockford's base 32, as drawn on the terminal.
    static func recoveryCode(on terminal: PseudoTerminal) async throws -> String {
        for _ in 0..<200 {
            let match = terminal.text.firstMatch(of: /([0-9A-HJKMNP-TV-Z]{4}-){6}[0-9A-HJKMNP-TV-Z]{4}/)
            if let match { return String(match.output.0) }
            try await terminal.wait(for: "-")
        }
        throw Surprise("no recovery code was shown:\n\(terminal.text)")
    }

    // MARK: Items

    mutating func store() async throws {
        let items = [
            ("github-token", "finger", "ghp_only_this_finger"), ("mail", "either", "finger or passcode"),
            ("backup-key", "passcode", "typed every time"), ("wifi", "none", "open while unlocked"),
        ]
        for (name, demand, secret) in items {
            transcript.step("touchstone set \(name) --require \(demand), the secret from standard input")
            let outcome = try await shell.run("set", name, "--require", demand, input: secret)
            try expect(outcome, status: 0)
            transcript.done("stored")
        }
        transcript.step("touchstone get wifi: needs nothing while the keychain is unlocked")
        let outcome = try await shell.run("get", "wifi")
        try expect(outcome, status: 0, output: "open while unlocked")
        transcript.done("“\(outcome.output)”, without a prompt")
    }

    mutating func readByFinger(_ finger: SyntheticFinger) async throws {
        for name in ["github-token", "mail"] {
            transcript.step("touchstone get \(name), and touch the sensor")
            let outcome = try await get(name, touching: finger)
            try expect(outcome, status: 0)
            transcript.done("“\(outcome.output)”")
        }
    }

    // MARK: Refusals

    mutating func refuse(_ stranger: SyntheticFinger, passcode: String) async throws {
        transcript.step(
            "touchstone get github-token: a stranger touches the sensor five times, and does not know the passcode"
        )
        let pictures = (0..<5).map { stranger.impression($0) }
        let bus = bus
        let outcome = try await shell.run("get", "github-token") { terminal in
            let reader = VirtualReader(bus)
            for (number, picture) in pictures.enumerated() {
                try await reader.touch(picture)
                if number < 4 { try await terminal.wait(for: "No match.") }
            }
            // After five no finger counts until the passcode is entered.
            try await terminal.wait(for: "Passcode:")
            terminal.press(.endOfFile)
        }
        try expect(outcome, status: 4, output: "")
        transcript.done("exit \(outcome.status), nothing released: \(outcome.error)")

        transcript.step("touchstone get mail: locked out, so the passcode alone counts")
        let opened = try await shell.run("get", "mail") { terminal in
            try await terminal.wait(for: "Passcode:")
            terminal.type(passcode)
            terminal.press(.enter)
        }
        try expect(opened, status: 0, output: "finger or passcode")
        transcript.done("“\(opened.output)”; the sensor counts again")
    }

    // MARK: A key for ssh

    mutating func sign(passcode: String) async throws {
        transcript.step(
            "touchstone key create work --require passcode, and ssh-add -l through the daemon's ssh-agent"
        )
        let made = try await shell.run("key", "create", "work", "--require", "passcode")
        try expect(made, status: 0)
        let listed = try await shell.run(program: "/usr/bin/ssh-add", ["-l"])
        try expect(listed, status: 0)
        transcript.done(listed.output.trimmingCharacters(in: .whitespacesAndNewlines))

        transcript.step("ssh-keygen -Y sign with that key: the agent's box says what for")
        let (message, key) = (shell.home + "/message", shell.home + "/work.pub")
        try "Pay 12.30 EUR to Alice.\n".write(toFile: message, atomically: true, encoding: .utf8)
        try (made.output + "\n").write(toFile: key, atomically: true, encoding: .utf8)
        // A session of its own, whose terminal the daemon finds, as the window of a user has.
        let signed = try await shell.run(
            program: "/usr/bin/setsid",
            ["--ctty", "--wait", "/usr/bin/ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "file", message]
        ) { terminal in
            try await terminal.wait(for: "Sign for 'file' with the key 'work'.")
            try await terminal.wait(for: "Passcode:")
            terminal.type(passcode)
            terminal.press(.enter)
        }
        try expect(signed, status: 0)
        transcript.done("signed by the TPM's key, after the passcode")

        transcript.step("ssh-keygen -Y verify")
        let signers = shell.home + "/signers"
        try ("me " + made.output + "\n").write(toFile: signers, atomically: true, encoding: .utf8)
        let verified = try await shell.run(
            program: "/usr/bin/ssh-keygen",
            ["-Y", "verify", "-f", signers, "-I", "me", "-n", "file", "-s", message + ".sig"],
            input: "Pay 12.30 EUR to Alice.\n"
        )
        try expect(verified, status: 0)
        transcript.done(verified.output.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    // MARK: Other programs' secrets

    /// Programs that know libsecret alone keep secrets here; a script reads all of them, and after `protect` not the one that counts.
    mutating func serve(passcode: String) async throws {
        let tool = "/usr/bin/secret-tool"
        transcript.step(
            "secret-tool store, twice, in touchstone secrets try: a program that knows libsecret alone"
        )
        let store = "\(tool) store --label"
        let stored = try await shell.run(
            "secrets",
            "try",
            "/bin/sh",
            "-c",
            "printf %s hunter2 | \(store)=bank user alice kind demo && printf %s swordfish | \(store)=wiki user bob kind demo"
        )
        try expect(stored, status: 0)
        transcript.done("two items of this keychain")

        let script =
            "\(tool) search --all kind demo 2>/dev/null | sed -n 's/^secret = //p' | sort | tr '\\n' ' '"
        transcript.step("a script, as a coding agent runs one, reads everything there is")
        let everything = try await shell.run("secrets", "try", "/bin/sh", "-c", script)
        try expect(everything, status: 0, output: "hunter2 swordfish ")
        transcript.done(
            "it has “\(everything.output.dropLast())”, and nobody was asked: so it is in every keyring"
        )

        transcript.step("touchstone protect --match user=alice --require passcode, and the same script")
        try expect(
            try await shell.run("protect", "--match", "user=alice", "--require", "passcode"),
            status: 0
        )
        let rest = try await shell.run("secrets", "try", "/bin/sh", "-c", script)
        try expect(rest, status: 0, output: "swordfish ")
        transcript.done("it has “\(rest.output.dropLast())” alone; the other one's key is not in reach")

        transcript.step("secret-tool lookup user alice")
        // A session of its own, whose terminal the door finds, as the window of a user has.
        let looked = try await shell.run(
            program: "/usr/bin/setsid",
            [
                "--ctty", "--wait", shell.programs + "/touchstone", "secrets", "try", tool, "lookup", "user",
                "alice",
            ]
        ) { terminal in
            try await terminal.wait(for: "Read the secret 'bank'.")
            try await terminal.wait(for: "Passcode:")
            terminal.type(passcode)
            terminal.press(.enter)
        }
        try expect(looked, status: 0, output: "hunter2")
        transcript.done("the box names secret-tool, what started it, and the secret; then “\(looked.output)”")

        transcript.step("touchstone log --reads")
        let reads = try await shell.run("log", "--reads", "--lines", "1")
        guard reads.status == 0, reads.output.contains("secret-tool"), reads.output.contains("'bank'") else {
            throw Surprise("no record of the read: \(reads.output)\(reads.screen)")
        }
        let cells = reads.output.split(separator: "\t", omittingEmptySubsequences: false)
        transcript.done("\(cells[1]), started by \(cells[2]), read \(cells[4]) after the \(cells[6])")
    }

    // MARK: A crash

    mutating func survive(_ finger: SyntheticFinger, passcode: String) async throws {
        transcript.step("kill -9 the daemon, then touchstone get github-token")
        let process = try await shell.daemonProcess()
        kill(process, SIGKILL)
        let picture = next(of: finger)
        let bus = bus
        let outcome = try await shell.run("get", "github-token") { terminal in
            // A finger cannot open a keychain that was never unlocked since the daemon's start: the passcode comes
            // first.
            try await terminal.wait(for: "Passcode:")
            terminal.type(passcode)
            terminal.press(.enter)
            let reader = VirtualReader(bus)
            try await reader.waitUntilWanted(atMost: .seconds(30))
            try await reader.touch(picture)
        }
        try expect(outcome, status: 0, output: "ghp_only_this_finger")
        transcript.done("a new daemon asked for the passcode, then the finger: “\(outcome.output)”")
    }

    // MARK: Another finger

    mutating func changeFingers(_ second: SyntheticFinger, passcode: String) async throws {
        transcript.step("Enrol a second finger, then touchstone get github-token")
        try await Enroller(bus).enrol(second, as: "left-index-finger")
        let gone = try await shell.run("get", "github-token")
        try expect(gone, status: 3, output: "")
        transcript.done("exit \(gone.status): \(gone.error)")

        transcript.step(
            "The other secrets are not lost: mail by passcode, which is required once, then by the second finger"
        )
        let mail = try await shell.run("get", "mail") { terminal in
            try await terminal.wait(for: "Passcode:")
            terminal.type(passcode)
            terminal.press(.enter)
        }
        try expect(mail, status: 0, output: "finger or passcode")
        try expect(try await get("mail", touching: second), status: 0, output: "finger or passcode")
        transcript.done("released twice")

        transcript.step("backup-key by passcode, wifi without a prompt")
        let backup = try await shell.run("get", "backup-key") { terminal in
            try await terminal.wait(for: "Passcode:")
            terminal.type(passcode)
            terminal.press(.enter)
        }
        try expect(backup, status: 0, output: "typed every time")
        try expect(try await shell.run("get", "wifi"), status: 0, output: "open while unlocked")
        transcript.done("both released")
    }

    mutating func end() async throws {
        transcript.step("touchstone status")
        let outcome = try await shell.run("status")
        try expect(outcome, status: 0)
        transcript.quote(outcome.output)
        kill(try await shell.daemonProcess(), SIGTERM)
        transcript.end("A finger or a passcode released a key, and nothing else did.")
    }

    // MARK: Steps

    mutating func next(of finger: SyntheticFinger) -> FingerPicture {
        touches += 1
        return finger.impression(touches)
    }

    /// Reads a secret by touching the sensor.
    private mutating func get(_ name: String, touching finger: SyntheticFinger) async throws -> Shell.Outcome
    {
        let picture = next(of: finger)
        let bus = bus
        return try await shell.run("get", name) { terminal in
            try await terminal.wait(for: "ouch the fingerprint sensor")
            try await VirtualReader(bus).touch(picture)
        }
    }

    func expect(_ outcome: Shell.Outcome, status: Int32, output: String? = nil) throws {
        guard outcome.status == status, output == nil || output == outcome.output else {
            throw Surprise(
                "exit \(outcome.status) instead of \(status), output “\(outcome.output)”\n\(outcome.screen)"
            )
        }
    }
}
