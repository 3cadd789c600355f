import Foundation
import Glibc
import SecretMemory
import TouchstoneTesting

/// Runs the real `touchstone`, and an app, as a user at a terminal would.
struct Shell: Sendable {
    /// The result of a command.
    struct Outcome: Sendable {
        /// The exit status.
        let status: Int32
        /// Its standard output.
        let output: String
        /// The output on the terminal: prompts, and the lines `error:` and `hint:`.
        let screen: String

        /// The line that begins with `error:`, without that word.
        var error: String {
            let line = screen.split(whereSeparator: \.isNewline).last { $0.hasPrefix("error: ") }
            return line.map { String($0.dropFirst(7)) } ?? "no error line"
        }
    }

    /// The daemon's directory.
    let home: String
    /// The directory of `touchstone` and `touchstoned-testing`: the demo's own build directory.
    let programs: String
    /// The window in which all commands run: a touch alone counts only where the passcode was typed.
    let terminal: PseudoTerminal

    /// Runs a command while `person` acts at its terminal.
    ///
    /// - Parameters:
    ///   - program: the program, a path for one of the system's; `touchstone` by default.
    ///   - arguments: the arguments after the program's name.
    ///   - input: standard input; the terminal when nil.
    ///   - person: the actions at the terminal.
    /// - Returns: the command's result.
    /// - Throws: ``Surprise`` with the terminal's output if an expected text did not appear.
    func run(
        program: String = "touchstone",
        _ arguments: [String],
        input: String? = nil,
        person: @Sendable (PseudoTerminal) async throws -> Void = { _ in }
    ) async throws -> Outcome {
        let place = try open(terminal)
        let drawnBefore = terminal.text.count
        terminal.skip()
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: program.hasPrefix("/") ? program : "\(programs)/\(program)"
        )
        process.arguments = arguments
        process.environment = [
            "TOUCHSTONE_HOME": home, "TOUCHSTONE_DAEMON": programs + "/touchstoned-testing", "HOME": home,
            "SSH_AUTH_SOCK": home + "/run/ssh-agent",
            "TERM": "xterm", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin",
        ]
        process.standardOutput = output
        process.standardError = place
        if let input {
            let pipe = Pipe()
            process.standardInput = pipe
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
        } else {
            process.standardInput = place
        }
        let (ends, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { ended in
            end.yield(ended.terminationStatus)
            end.finish()
        }
        try Self.start(process)
        do {
            try await person(terminal)
        } catch {
            process.terminate()
            throw Surprise("\(program) \(arguments.joined(separator: " ")): \(error)\n\(terminal.text)")
        }
        var status: Int32 = -1
        for await value in ends { status = value }
        if status != 0 {
            // The terminal may not have drawn the last lines yet.
            try await terminal.wait(for: "error: ")
            try await terminal.wait(for: "\n")
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return Outcome(status: status, output: text, screen: String(terminal.text.dropFirst(drawnBefore)))
    }

    /// Runs `touchstone` while `person` acts at its terminal.
    func run(
        _ arguments: String...,
        input: String? = nil,
        person: @Sendable (PseudoTerminal) async throws -> Void = { _ in }
    ) async throws -> Outcome {
        try await run(arguments, input: input, person: person)
    }

    /// The daemon's process ID.
    func daemonProcess() async throws -> pid_t {
        let outcome = try await run("status", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        guard let process = object?["daemonProcess"] as? Int else {
            throw Surprise("no daemon: \(outcome.output)")
        }
        return pid_t(process)
    }

    /// Ends the daemon by a signal and waits until it has exited.
    func stopDaemon(with signal: Int32) async throws {
        let process = try await daemonProcess()
        kill(process, signal)
        try await Deadline.wait(for: "the end of the daemon") { kill(process, 0) != 0 ? true : nil }
    }

    /// Starts a process without the signals that this program blocks: a bus that a command starts for itself ends at SIGTERM.
    private static func start(_ process: Process) throws {
        var (none, own) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &own)
        defer { pthread_sigmask(SIG_SETMASK, &own, nil) }
        try process.run()
    }

    private func open(_ terminal: PseudoTerminal) throws -> FileHandle {
        // O_NOCTTY: as the demo's controlling terminal it would make the demo's commands background jobs.
        let descriptor = Glibc.open(terminal.name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Surprise("cannot open \(terminal.name)") }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
