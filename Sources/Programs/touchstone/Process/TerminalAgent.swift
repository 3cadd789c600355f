import CLinux
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// The agent that draws this command's prompts on its terminal, where the daemon runs under an account of its own.
///
/// It is started by the first request that finds nobody to draw its prompt, and ends with this process, whatever ends that: it
/// holds the other end of a pipe.
struct TerminalAgent: PromptAgent {
    /// Where it is installed; nothing in the environment has a say in it, because it is set-gid.
    private static let path = "/usr/libexec/touchstone/touchstone-agent"
    /// How long it may take to register.
    private static let patience = Duration.seconds(20)
    /// How long it may take to end, in milliseconds.
    private static let endPatience: CInt = 1000
    /// The daemon may tell of its end a moment before the kernel does, in milliseconds.
    private static let deathPatience: CInt = 200
    /// The most that is read of what it says, in bytes.
    private static let longestReport = 4096

    private struct Running {
        let process: pid_t
        /// The end of the pipe that keeps it.
        let lifeline: CInt
    }

    private static let running = Guarded<Running?>(nil)

    /// Has the client start it where a prompt needs it.
    static func startWhenNeeded() { RemoteKeychain.shared.drawPrompts(by: TerminalAgent()) }

    /// Starts it and waits until it has registered.
    ///
    /// - Throws: `error` where an agent of this terminal would not draw the prompt, or the reason why there is none.
    func start(insteadOf error: KeychainError) throws(KeychainError) {
        let terminal = PromptOrigin.controllingTerminal()
        guard terminal != nil, terminal == PromptOrigin.current().terminal else { throw error }
        try Self.running.withLock { running throws(KeychainError) in
            if let former = running {
                // It serves, and the daemon does not take it.
                guard Self.hasEnded(former.process, within: 0) else { throw error }
                close(former.lifeline)
                running = nil
            }
            running = try Self.launch()
        }
    }

    var wasKilled: Bool {
        guard let process = Self.running.withLock({ $0?.process }) else { return false }
        Self.wait(for: process, Self.deathPatience)
        var status = unsafe siginfo_t()
        // It stays to be reaped.
        let found = unsafe waitid(P_PID, id_t(process), &status, WEXITED | WNOHANG | WNOWAIT)
        return unsafe found == 0 && status.si_code == CLD_KILLED
    }

    /// Ends it and waits for that, before this process becomes a program that would not know such a child.
    static func end() {
        guard let former = running.withLock({ $0.take() }) else { return }
        close(former.lifeline)
        _ = hasEnded(former.process, within: endPatience)
    }

    /// The lines of a cause that ``start(insteadOf:)`` made: what went wrong and what to do.
    static func lines(of detail: String) -> ErrorText.Lines {
        let lines = detail.split(separator: "\n", maxSplits: 1).map(String.init)
        return (lines.first ?? "no program draws the prompt", lines.dropFirst().first ?? "touchstone doctor")
    }

    private static func launch() throws(KeychainError) -> Running {
        do {
            var lifeline = try Pipe()
            var report = try Pipe()
            let process = try ChildProgram(
                path,
                [path, "--terminal"],
                input: lifeline.readEnd,
                output: report.writeEnd,
                errors: report.writeEnd
            ).processID
            lifeline.closeReadEnd()
            report.closeWriteEnd()
            guard let fault = fault(in: report.readEnd) else {
                return Running(process: process, lifeline: lifeline.takeWriteEnd())
            }
            kill(process, SIGKILL)
            _ = hasEnded(process, within: endPatience)
            throw failure(fault.message, fault.hint)
        } catch let error as KeychainError {
            throw error
        } catch let error as CommandError {
            throw failure("no program that draws prompts was started: \(error.message)", "touchstone doctor")
        } catch {
            throw failure("no program that draws prompts was started", "touchstone doctor")
        }
    }

    private static func failure(_ message: String, _ hint: String) -> KeychainError {
        KeychainError(
            AuthenticationError(.notInteractive, cause: DriverCause(.noAgent, detail: "\(message)\n\(hint)"))
        )
    }

    /// Waits for its word; nil when it is ready.
    private static func fault(in report: CInt) -> (message: String, hint: String)? {
        let deadline = ContinuousClock.now + patience
        var octets: [UInt8] = []
        while octets.count < longestReport, Descriptor.isReadable(report, until: deadline) {
            var part = [UInt8](repeating: 0, count: longestReport)
            let count = unsafe read(report, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                return said(String(decoding: octets, as: UTF8.self))
            }
            octets += part[..<count]
            if octets.starts(with: "ready\n".utf8) { return nil }
        }
        return ("the program that draws prompts does not become ready", "try again")
    }

    /// Its own two lines, where it wrote them.
    private static func said(_ text: String) -> (message: String, hint: String) {
        let lines = text.split(separator: "\n")
        func rest(_ start: String) -> String? {
            lines.first { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
        }
        return (
            "the program that draws prompts cannot serve: \(rest("error: ") ?? "it ended without a word")",
            rest("hint: ") ?? "touchstone doctor"
        )
    }

    /// Waits for the end of a child so many milliseconds, and reaps it.
    private static func hasEnded(_ process: pid_t, within milliseconds: CInt) -> Bool {
        wait(for: process, milliseconds)
        return waitpid(process, nil, WNOHANG) != 0
    }

    private static func wait(for process: pid_t, _ milliseconds: CInt) {
        let descriptor = clinux_pidfd_open(process)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&watched, 1, milliseconds)
    }
}
