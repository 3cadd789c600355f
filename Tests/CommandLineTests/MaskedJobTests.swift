import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// `touchstone run --mask` as a shell job: the effect of terminal keys and signals on it and its command.
@Suite("A masked command as a shell job", .serialized)
struct MaskedJobTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    /// How the command's streams are connected.
    enum Streams: CaseIterable {
        /// A pseudo-terminal behind the shell's terminal.
        case terminal
        /// Pipes, and the shell's terminal as controlling terminal.
        case pipes
    }

    private func keychain() throws -> ScriptedKeychain {
        try ScriptedKeychain(home, ["a": .init(octets: Array("s3cret".utf8))])
    }

    /// Starts an interactive shell on its own terminal.
    private func shell(on terminal: PseudoTerminal) async throws -> ChildProcess {
        let directory = URL(fileURLWithPath: Programs.touchstone).deletingLastPathComponent().path
        let shell = try await ChildProcess.start(
            "/bin/sh",
            [
                "-c",
                "cd \(home.path) && exec 0<>\(terminal.name) 1>&0 2>&0; exec /bin/bash --norc --noprofile -i",
            ],
            environment: [
                "TERM": "xterm", "PATH": "\(directory):/usr/bin:/bin", "PS1": "ready> ", "HISTFILE": "",
                "TOUCHSTONE_HOME": home.path, "TOUCHSTONE_DAEMON": "/nonexistent",
            ]
        )
        try await terminal.wait(for: "ready>")
        return shell
    }

    /// A shell line that runs a masked script, writes its process number to the file "job", and prints its
    /// exit status.
    private func line(_ script: String, _ streams: Streams) throws -> String {
        for name in ["job", "pid", "out", "go"] {
            try? FileManager.default.removeItem(atPath: home.path + "/\(name)")
        }
        try script.write(toFile: home.path + "/script", atomically: true, encoding: .utf8)
        let run = "sh -c 'echo $$ > job; exec touchstone run --mask --env A=a -- bash ./script'"
        return "\(run)\(streams == .terminal ? "" : " > out"); echo sta''tus=$?"
    }

    /// The command's output so far.
    private func written(_ streams: Streams, _ terminal: PseudoTerminal) -> String {
        streams == .terminal
            ? terminal.text : (try? String(contentsOfFile: home.path + "/out", encoding: .utf8)) ?? ""
    }

    private func wait(for text: String, _ streams: Streams, _ terminal: PseudoTerminal) async throws {
        try await Deadline.wait(for: "'\(text)' in what was written") {
            written(streams, terminal).contains(text) ? true : nil
        }
    }

    private func number(_ name: String) async throws -> pid_t {
        try await Deadline.wait(for: "the file \(name)") {
            let text = (try? String(contentsOfFile: home.path + "/\(name)", encoding: .utf8)) ?? ""
            return text.hasSuffix("\n") ? pid_t(text.dropLast()) : nil
        }
    }

    /// Waits until a process is stopped or running.
    private func wait(for process: pid_t, toBeStopped isStopped: Bool) async throws {
        try await Deadline.wait(for: "\(process) to be \(isStopped ? "stopped" : "running")") { () -> Bool? in
            guard let letter = ChildProcess.state(of: process) else { return nil }
            return (letter == "T") == isStopped ? true : nil
        }
    }

    /// Waits until a process executes the program `name` (proc(5), `comm`).
    private func wait(for process: pid_t, toExecute name: String) async throws {
        try await Deadline.wait(for: "\(process) to execute \(name)") {
            let executed = try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
            return executed == name + "\n" ? true : nil
        }
    }

    /// Whether a process is in its terminal's foreground group (proc(5): the fields `pgrp` and `tpgid`).
    private func isInForeground(_ process: pid_t) -> Bool {
        let line = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let fields = (line.split(separator: ")").last ?? "").split(separator: " ")
        return fields.count > 5 && fields[2] == fields[5]
    }

    /// The modes of the shell's terminal while the shell runs a command.
    private func modes(_ shell: PseudoTerminal, _ name: String) async throws -> String {
        shell.press(.text("stty -g > \(name) && mv \(name) \(name).whole"), .enter)
        return try await Deadline.wait(for: "the modes of the terminal") {
            try? String(contentsOfFile: home.path + "/\(name).whole", encoding: .utf8)
        }
    }

    @Test(
        "a signal is forwarded to the command, whose exit status is returned",
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT],
        Streams.allCases
    )
    func signals(signal: Int32, streams: Streams) async throws {
        let keychain = try keychain()
        let terminal = try PseudoTerminal()
        let shell = try await shell(on: terminal)
        defer { shell.stop() }
        let before = try await modes(terminal, "before")
        let caught = "trap 'echo caught $A; exit 77' \(signal); echo $$ > pid; while :; do sleep 0.05; done"
        terminal.press(.text(try line(caught, streams)), .enter)
        _ = try await number("pid")
        kill(try await number("job"), signal)
        try await wait(for: "caught <concealed by touchstone>", streams, terminal)
        try await terminal.wait(for: "status=77")
        let uncaught = "ulimit -c 0; echo $$ > pid; exec sleep 600"
        terminal.press(.text(try line(uncaught, streams)), .enter)
        let command = try await number("pid")
        // bash always ignores SIGQUIT.
        try await wait(for: command, toExecute: "sleep")
        let job = try await number("job")
        kill(job, signal)
        try await Deadline.wait(for: "the job's end") { ChildProcess.hasEnded(job) ? true : nil }
        // A shell does not run the rest of a line after an interrupted part.
        if signal == SIGINT { terminal.press(.text("echo sta''tus=$?"), .enter) }
        try await terminal.wait(for: "status=\(128 + signal)")
        #expect(ChildProcess.hasEnded(command))
        #expect(try await modes(terminal, "after") == before)
        _ = keychain
    }

    @Test(
        "the interrupt and quit keys reach the command as from its own terminal",
        arguments: ["\u{3}": SIGINT, "\u{1C}": SIGQUIT].map { ($0.key, $0.value) },
        Streams.allCases
    )
    func keys(key: (text: String, signal: Int32), streams: Streams) async throws {
        let keychain = try keychain()
        let terminal = try PseudoTerminal()
        let shell = try await shell(on: terminal)
        defer { shell.stop() }
        let before = try await modes(terminal, "before")
        let script = "trap 'echo caught; exit 77' \(key.signal); echo $$ > pid; while :; do sleep 0.05; done"
        terminal.press(.text(try line(script, streams)), .enter)
        _ = try await number("pid")
        terminal.type(key.text)
        try await wait(for: "caught", streams, terminal)
        try await terminal.wait(for: "status=77")
        #expect(try await modes(terminal, "after") == before)
        _ = keychain
    }

    @Test(
        "the stop key stops both processes, the shell gets its terminal back, and fg and bg resume both",
        arguments: Streams.allCases
    )
    func stopping(streams: Streams) async throws {
        let keychain = try keychain()
        let terminal = try PseudoTerminal()
        let shell = try await shell(on: terminal)
        defer { shell.stop() }
        let before = try await modes(terminal, "before")
        let script = """
            echo $$ > pid; echo "first $A"
            while ! test -e go; do sleep 0.05; done
            echo "last $A $(stty size < /dev/tty)"; exit 5
            """
        terminal.press(.text(try line(script, streams)), .enter)
        let (command, job) = (try await number("pid"), try await number("job"))
        try await wait(for: "first <concealed by touchstone>", streams, terminal)
        for round in 1...3 {
            terminal.type("\u{1A}")
            try await terminal.wait(for: "Stopped")
            try await wait(for: job, toBeStopped: true)
            try await wait(for: command, toBeStopped: true)
            #expect(try await modes(terminal, "stopped\(round)") == before)
            if round == 2 {
                terminal.press(.text("bg; echo in''back"), .enter)
                try await terminal.wait(for: "inback")
                try await wait(for: job, toBeStopped: false)
                try await wait(for: command, toBeStopped: false)
                #expect(try await modes(terminal, "background") == before)
            }
            // A window made smaller meanwhile.
            terminal.press(.text("stty rows \(20 + round) cols 70; fg; echo en''ded=$?"), .enter)
            try await terminal.wait(for: "script")
            try await wait(for: job, toBeStopped: false)
            try await wait(for: command, toBeStopped: false)
            // The shell prints the job before it gives it the foreground.
            try await Deadline.wait(for: "the foreground") { isInForeground(job) ? true : nil }
            if streams == .terminal {
                try await Deadline.wait(for: "raw mode") { terminal.isEchoing ? nil : true }
            }
        }
        try "".write(toFile: home.path + "/go", atomically: true, encoding: .utf8)
        try await terminal.wait(for: "ended=5")
        try await wait(for: "last <concealed by touchstone> 23 70", streams, terminal)
        #expect(!terminal.text.contains("s3cret"))
        #expect(try await modes(terminal, "after") == before)
        _ = keychain
    }

    @Test("a change of the window size is passed on to the command")
    func size() async throws {
        let keychain = try keychain()
        let terminal = try PseudoTerminal()
        let shell = try await shell(on: terminal)
        defer { shell.stop() }
        let script = """
            trap 'told=$((told + 1))' WINCH
            echo $$ > pid
            while ! test -e go; do
                if test "$told" != "$shown"; then shown=$told; stty size; fi
                sleep 0.05
            done
            """
        terminal.press(.text(try line(script, .terminal)), .enter)
        _ = try await number("pid")
        let descriptor = open(terminal.name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(descriptor) }
        for columns in [50, 132] {
            var size = winsize(ws_row: 33, ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
            #expect(ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0)
            try await terminal.wait(for: "33 \(columns)")
        }
        try "".write(toFile: home.path + "/go", atomically: true, encoding: .utf8)
        try await terminal.wait(for: "status=0")
        _ = keychain
    }

    @Test("the stop key does not stop an orphaned process group for good")
    func orphan() async throws {
        let keychain = try keychain()
        let terminal = try PseudoTerminal()
        var run = CommandRun("run", "--mask", "--env", "A=a", "--", "bash", "-c", home: home)
        run.arguments.append("trap 'echo on; exit 6' CONT; echo ready; while :; do sleep 0.05; done")
        (run.terminal, run.input, run.drawsOnTerminal) = (terminal, .terminal, true)
        let started = try run.start()
        try await terminal.wait(for: "ready")
        terminal.type("\u{1A}")
        try await terminal.wait(for: "on")
        #expect(await started.result().status == 6)
        #expect(terminal.isCanonical && terminal.isEchoing)
        _ = keychain
    }
}
