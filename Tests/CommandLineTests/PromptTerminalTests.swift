import Foundation
import Glibc
import KeychainClient
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Prompts on a real terminal, drawn by the real programs: which clients may have one, and what remains of
/// it.
@Suite(
    "Prompts on the shell's terminal",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .serialized
)
struct PromptTerminalTests {
    static let programs = ["/usr/bin/pinentry-tty", "/usr/bin/pinentry-curses"]

    /// A locked keychain with one secret, and the pinentry program to use.
    private func keychain(_ program: String) async throws -> RealKeychain {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "x", "--require", "passcode", input: "value").status == 0)
        try keychain.draw(with: program)
        return keychain
    }

    /// Starts an interactive shell on its own terminal.
    private func shell(_ keychain: RealKeychain, on terminal: PseudoTerminal) async throws -> ChildProcess {
        let directory = URL(fileURLWithPath: Programs.touchstone).deletingLastPathComponent().path
        let shell = try await ChildProcess.start(
            "/bin/sh",
            [
                "-c",
                "cd \(keychain.home.path) && exec 0<>\(terminal.name) 1>&0 2>&0; "
                    + "exec /bin/bash --norc --noprofile -i",
            ],
            environment: [
                "TERM": "xterm", "PATH": "\(directory):/usr/bin:/bin", "PS1": "ready> ", "HISTFILE": "",
                "TOUCHSTONE_HOME": keychain.home.path, "TOUCHSTONE_DAEMON": Programs.touchstoned,
            ]
        )
        try await terminal.wait(for: "ready>")
        return shell
    }

    private func failures(_ keychain: RealKeychain) throws -> Int {
        try RemoteKeychain(layout: keychain.home.layout, daemon: .none).status().authentication
            .passcodeFailures
    }

    @Test("a background job is refused a prompt and takes no input from the shell", arguments: programs)
    func background(program: String) async throws {
        let keychain = try await keychain(program)
        let terminal = try PseudoTerminal()
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        terminal.press(.text("(touchstone get x > f; echo ex''it=$?) &"), .enter)
        for number in 1...5 {
            terminal.press(.text("echo typ''ed\(number)"), .enter)
            try await terminal.wait(for: "typed\(number)")
        }
        // Twice, with `fg` in the hint.
        try await Deadline.wait(for: "the refusal") { terminal.text.contains("exit=8") ? true : nil }
        #expect(terminal.text.contains("the command runs in the background"))
        #expect(terminal.text.contains("bring it to the foreground with fg"))
        #expect(try failures(keychain) == 0)
        #expect(!terminal.text.contains("Passcode:"))
    }

    @Test("a prompt that does not fit into the terminal's window is refused with status 8, and says so")
    func smallWindow() async throws {
        let keychain = try await keychain(Self.programs[1])
        let terminal = try PseudoTerminal(columns: 80, rows: 5)
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        terminal.press(.text("touchstone get x | cat; echo ex''it=${PIPESTATUS[0]}"), .enter)
        try await terminal.wait(for: "exit=8")
        #expect(terminal.text.contains("the prompt cannot be drawn on this terminal"))
        #expect(terminal.text.contains("hint: make the window larger"))
        #expect(try failures(keychain) == 0)
    }

    @Test("a prompt is drawn without UTF-8 and on a terminal of an unknown type", arguments: programs)
    func plainTerminal(program: String) async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "kü", "--require", "passcode", input: "value").status == 0)
        try keychain.draw(with: program)
        let terminal = try PseudoTerminal()
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        terminal.press(.text("export LC_ALL=C TERM=nosuchterm"), .enter)
        terminal.press(.text("touchstone get $(printf 'k\\303\\274') | tr a-z A-Z; echo :do''ne"), .enter)
        try await terminal.wait(for: "Passcode:")
        terminal.press(.text(RealKeychain.passcode), .enter)
        try await terminal.wait(for: ":done")
        #expect(terminal.text.contains("VALUE"))
    }

    @Test(
        "the interrupt key at the prompt that saves an edit does not lose what was typed",
        arguments: programs
    )
    func interruptedEdit(program: String) async throws {
        let keychain = try await keychain(program)
        let terminal = try PseudoTerminal()
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        // The lock ends the gesture with which the secret was read.
        let editor = keychain.home.path + "/editor"
        try "#!/bin/sh\nprintf edited > \"$1\"\ntouchstone lock\n"
            .write(toFile: editor, atomically: true, encoding: .utf8)
        chmod(editor, 0o755)
        terminal.press(.text("EDITOR=\(editor) touchstone edit x; echo ex''it=$?"), .enter)
        try await terminal.wait(for: "Passcode:")
        terminal.press(.text(RealKeychain.passcode), .enter)
        try await terminal.wait(for: "Passcode:")
        terminal.press(.text("\u{3}"))
        try await terminal.wait(for: "the change is not saved")
        try await terminal.wait(for: "Try again? [Y/n]")
        terminal.press(.text("y"), .enter)
        try await terminal.wait(for: "Passcode:")
        terminal.press(.text(RealKeychain.passcode), .enter)
        try await terminal.wait(for: "Changed 'x'.")
        try await terminal.wait(for: "exit=0")

        // The text was saved: the editor writes the same once more.
        terminal.press(.text("EDITOR=\(editor) touchstone edit x; echo ex''it=$?"), .enter)
        try await terminal.wait(for: "Passcode:")
        terminal.press(.text(RealKeychain.passcode), .enter)
        try await terminal.wait(for: "Nothing was changed.")
        try await terminal.wait(for: "exit=0")
    }

    @Test("pipelines, substitutions and scripts count as foreground", arguments: programs)
    func foreground(program: String) async throws {
        let keychain = try await keychain(program)
        let terminal = try PseudoTerminal()
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        let lines = [
            "touchstone get x | tr a-z A-Z; echo :do''ne", "v=$(touchstone get x); echo :$v-do''ne",
            "sh -c 'touchstone get x > f; true'; echo :do''ne",
        ]
        for line in lines {
            terminal.press(.text(line), .enter)
            // The first one unlocks; the item needs a prompt each time.
            try await terminal.wait(for: "Passcode:")
            try await Deadline.wait(for: "raw mode") { terminal.isEchoing ? nil : true }
            terminal.press(.text(RealKeychain.passcode), .enter)
            let index = try await terminal.wait(forAnyOf: ["done", "Passcode:"])
            guard index == 1 else { continue }
            try await Deadline.wait(for: "raw mode") { terminal.isEchoing ? nil : true }
            terminal.press(.text(RealKeychain.passcode), .enter)
            try await terminal.wait(for: "done")
        }
        #expect(terminal.text.contains("VALUE"))
        #expect(terminal.text.contains(":value-done"))
        #expect(try failures(keychain) == 0)
    }

    @Test(
        "a command typed before or into a new prompt is no attempt, and a note says so",
        arguments: programs
    )
    func typedAhead(program: String) async throws {
        let keychain = try await keychain(program)
        let terminal = try PseudoTerminal()
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        terminal.press(.text("touchstone get x --show; echo ex''it=$?"), .enter)
        terminal.pressBlindly(.text("rm -rf bui"))
        try await terminal.wait(for: "Passcode:")
        terminal.pressBlindly(.text("ld"), .enter)
        try await terminal.wait(for: "discarded.")
        try await terminal.wait(for: "Passcode:")
        #expect(try failures(keychain) == 0)
        // Unlocks, and then opens the item.
        var ends = 1
        while ends == 1 {
            terminal.press(.text(RealKeychain.passcode), .enter)
            ends = try await terminal.wait(forAnyOf: ["exit=0", "Passcode:"])
        }
        #expect(try failures(keychain) == 0)
    }

    @Test("a program that joins the shell's process group gets no prompt in its window", arguments: programs)
    func joined(program: String) async throws {
        let keychain = try await keychain(program)
        let terminal = try PseudoTerminal()
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        // Left behind by a subshell: it joins the shell, which by then reads a command again.
        let script = """
            setpgrp(0, $ARGV[0]) or die "setpgrp: $!";
            select(undef, undef, undef, 0.2);
            print STDERR getpgrp() == $ARGV[0] ? "joined\\n" : "another group\\n";
            exec(qw(touchstone get x));
            """
        try Data(script.utf8).write(to: URL(fileURLWithPath: keychain.home.path + "/join"))
        terminal.press(.text("(sh -c 'perl join '$$' > f 2> log; echo $? > status' &)"), .enter)
        try await Deadline.wait(for: "its end") {
            let status = try? String(contentsOfFile: keychain.home.path + "/status", encoding: .utf8)
            return status?.isEmpty == false ? true : nil
        }
        let log = try String(contentsOfFile: keychain.home.path + "/log", encoding: .utf8)
        #expect(log.contains("joined") && log.contains("the command runs in the background"), "\(log)")
        #expect(!terminal.text.contains("Passcode:"))
        #expect(try failures(keychain) == 0)
    }

    @Test(
        "stopping the client ends its prompt and returns the terminal to the shell",
        arguments: programs
    )
    func stopped(program: String) async throws {
        let keychain = try await keychain(program)
        let terminal = try PseudoTerminal()
        let shell = try await shell(keychain, on: terminal)
        defer { shell.stop() }
        terminal.press(.text("sh -c 'echo $$ > pid; exec touchstone get x > f'; echo ex''it=$?"), .enter)
        try await terminal.wait(for: "Passcode:")
        let number = try String(contentsOfFile: keychain.home.path + "/pid", encoding: .utf8)
        let client = try #require(pid_t(number.trimmingCharacters(in: .whitespacesAndNewlines)))
        // While pinentry-curses draws its frame, the terminal would draw what the shell writes with the characters of frames.
        let prompt = try #require(try pinentry(on: terminal))
        try await Deadline.wait(for: "pinentry to wait for keys") {
            ChildProcess.state(of: prompt) == "S" ? true : nil
        }
        kill(client, SIGSTOP)
        try await terminal.wait(for: "ready>")
        // The daemon checks ten times a second.
        try await Deadline.wait(for: "the end of the prompt") {
            try pinentry(on: terminal) == nil ? true : nil
        }
        terminal.press(.text("echo ali''ve"), .enter)
        try await terminal.wait(for: "alive")
        terminal.press(.text("fg; echo co''de=$?"), .enter)
        try await terminal.wait(for: "code=8")
        #expect(try failures(keychain) == 0)
    }

    @Test(
        "killing the daemon or pinentry during a prompt restores the terminal",
        arguments: programs,
        [true, false]
    )
    func killed(program: String, daemon: Bool) async throws {
        let keychain = try await keychain(program)
        let terminal = try PseudoTerminal()
        let before = try modes(of: terminal)
        var run = CommandRun("get", "x", home: keychain.home)
        run.terminal = terminal
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned, "TERM": "xterm"]
        let started = try run.start()
        try await terminal.wait(for: "Passcode:")
        try await Deadline.wait(for: "raw mode") { terminal.isEchoing ? nil : true }
        terminal.pressBlindly(.text("half a passc"))
        if daemon {
            try keychain.stop(with: SIGKILL)
        } else {
            let process = try #require(try pinentry(on: terminal))
            kill(process, SIGKILL)
        }
        let result = await started.result()
        #expect(result.status != 0 && result.signal == nil, "\(result.errors)")
        #expect(try modes(of: terminal) == before)
        if program.hasSuffix("curses") {
            try await Deadline.wait(for: "the end of the other screen") {
                String(decoding: terminal.octets, as: UTF8.self).contains("\u{1B}[?1049l") ? true : nil
            }
        }
        // What was typed does not become the shell's next command.
        var waiting: CInt = 0
        let descriptor = open(terminal.name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting == 0)
    }

    private func pinentry(on terminal: PseudoTerminal) throws -> pid_t? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.first {
            process in
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
            guard program?.contains("pinentry") == true else { return false }
            let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []
            return files.contains { file in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(file)"))
                    == terminal.name
            }
        }
    }

    private func modes(of terminal: PseudoTerminal) throws -> [UInt8] {
        let descriptor = open(terminal.name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(descriptor) }
        var modes = termios()
        guard tcgetattr(descriptor, &modes) == 0 else { throw POSIXError(.EIO) }
        return withUnsafeBytes(of: &modes) { Array($0) }
    }

    @Test("a client waiting for a prompt on another terminal is told so, and the line is erased afterwards")
    func waits() async throws {
        let keychain = try await keychain(Self.programs[0])
        let first = try PseudoTerminal()
        let second = try PseudoTerminal()
        var run = CommandRun("get", "x", home: keychain.home)
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned, "TERM": "xterm"]
        run.terminal = first
        let asking = try run.start()
        try await first.wait(for: "Passcode:")
        run.terminal = second
        let waiting = try run.start()
        try await second.wait(for: "touchstone: waiting for another prompt, on \(first.name)")
        #expect(!second.text.contains("Passcode:"))
        first.press(.text(RealKeychain.passcode), .enter)
        let people = [
            Task { try await answer(first) }, Task { try await answer(second) },
        ]
        #expect(await asking.result().text == "value")
        #expect(await waiting.result().text == "value")
        for person in people { person.cancel() }
        let blank = "\r" + String(repeating: " ", count: 20)
        #expect(String(decoding: second.octets, as: UTF8.self).contains(blank))
    }

    /// Types the passcode at every prompt.
    private func answer(_ terminal: PseudoTerminal) async throws {
        while true {
            try await terminal.wait(for: "Passcode:")
            try await Deadline.wait(for: "raw mode") { terminal.isEchoing ? nil : true }
            terminal.press(.text(RealKeychain.passcode), .enter)
        }
    }
}
