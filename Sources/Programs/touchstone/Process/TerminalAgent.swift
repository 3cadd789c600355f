import CLinux
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// The agent that draws this command's prompts on its terminal when the daemon runs under a dedicated account.
///
/// The first request whose prompt no agent can draw starts it. It exits with this process, however that ends, because
/// this process holds the other end of its pipe.
struct TerminalAgent: PromptAgent {
    /// The installed path, which no environment variable changes because the agent is set-gid.
    private static let path = "/usr/libexec/touchstone/touchstone-agent"
    /// How long its registration may take.
    private static let patience = Duration.seconds(20)
    /// How long its exit may take, in milliseconds.
    private static let endPatience: CInt = 1000
    /// The daemon may report the agent's death a moment before the kernel does, in milliseconds.
    private static let deathPatience: CInt = 200
    /// The maximum number of bytes read from its output.
    private static let longestReport = 4096

    private struct Running {
        let process: pid_t
        /// The write end of the pipe that keeps it running.
        let lifeline: CInt
    }

    private static let running = Guarded<Running?>(nil)

    /// Makes the client start the agent when a prompt needs it.
    static func startWhenNeeded() { RemoteKeychain.shared.drawPrompts(by: TerminalAgent()) }

    /// Starts the agent and waits until it has registered.
    ///
    /// - Throws: `error` if an agent of this terminal would not draw the prompt, or the reason why the agent did not
    ///   start.
    func start(insteadOf error: KeychainError) throws(KeychainError) {
        // The agent could not open it.
        if case .foreign? = PlaceFault.current() {
            let cause = DriverCause(domain: "prompt", code: PromptError.Code.notInteractive.rawValue)
            throw KeychainError(AuthenticationError(.notInteractive, cause: cause, remedy: .provideTerminal))
        }
        let terminal = PromptOrigin.controllingTerminal()
        guard terminal != nil, terminal == PromptOrigin.current().terminal else { throw error }
        try Self.running.withLock { running throws(KeychainError) in
            if let former = running {
                // The agent runs, but the daemon does not accept it.
                guard Self.hasEnded(former.process, within: Self.deathPatience) else { throw error }
                close(former.lifeline)
                running = nil
            }
            running = try Self.launch()
        }
    }

    var wasKilledOrStopped: Bool {
        guard let process = Self.running.withLock({ $0?.process }) else { return false }
        if ProcessStat(of: process)?.isStopped == true { return true }
        Self.wait(for: process, Self.deathPatience)
        var status = unsafe siginfo_t()
        // WNOWAIT: the process stays a zombie until it is reaped.
        let found = unsafe waitid(P_PID, id_t(process), &status, WEXITED | WNOHANG | WNOWAIT)
        return unsafe found == 0 && status.si_code == CLD_KILLED
    }

    /// Ends the agent and waits for its exit, before this process executes a program that would not know such a child.
    static func end() {
        guard let former = running.withLock({ $0.take() }) else { return }
        close(former.lifeline)
        _ = hasEnded(former.process, within: endPatience)
    }

    /// The lines of a cause that ``start(insteadOf:)`` created: what went wrong and what to do.
    static func lines(of detail: String) -> ErrorText.Lines {
        let lines = detail.split(separator: "\n", maxSplits: 1).map(String.init)
        return (
            lines.first ?? "no program can show the prompt", lines.dropFirst().first ?? "touchstone doctor"
        )
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

    /// Waits for its report; nil when it is ready.
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

    /// The agent's own two lines, if it wrote them.
    private static func said(_ text: String) -> (message: String, hint: String) {
        let lines = text.split(separator: "\n")
        func rest(_ start: String) -> String? {
            lines.first { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
        }
        return (
            "the program that draws prompts failed: \(rest("error: ") ?? "it ended without a message")",
            rest("hint: ") ?? "touchstone doctor"
        )
    }

    /// Waits up to `milliseconds` for a child's exit, and reaps it.
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
