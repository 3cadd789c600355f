import CLinux
import Glibc
import KeychainModel

/// Starts a daemon and waits until it is listening.
enum DaemonStart {
    /// The timeout for a daemon to start listening.
    static let patience: Duration = .seconds(20)
    /// The maximum number of bytes kept of the daemon's standard error.
    private static let longestReport = 512

    /// Runs `touchstoned --detach`, which returns once this daemon or another one is ready.
    ///
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` and the daemon's error message.
    static func run(at location: DaemonLocation, for layout: Layout) throws(KeychainError) {
        guard let path = location.path() else {
            if let path = location.unsafePath { throw .notAvailable(.daemonUnsafe, detail: path) }
            throw .notAvailable(location == .none ? .daemonNotRunning : .daemonMissing)
        }
        guard let variables = DaemonEnvironment.variables(for: layout) else {
            throw .notAvailable(.layoutHasNoVariables)
        }
        // A memfd rather than a pipe, because the daemon may keep it open for its lifetime.
        let report = unsafe clinux_memfd("touchstoned-report")
        defer { if report >= 0 { close(report) } }
        let environment = variables.map { "\($0.key)=\($0.value)" }
        let pid = unsafe withCStrings([path, "--detach"]) { arguments in
            unsafe withCStrings(environment) { environment in
                unsafe clinux_spawn(path, arguments, environment, -1, -1, report)
            }
        }
        guard pid > 0 else {
            throw .notAvailable(.daemonNotStarted, detail: SystemError.name(of: errno))
        }
        let outcome = wait(for: pid)
        guard outcome == .ready else {
            throw .notAvailable(DriverCause(domain: "touchstoned", code: outcome.name + said(in: report)))
        }
    }

    /// Runs `touchstoned --check-configuration` and returns its error message; nil if the configuration is valid, or
    /// without a daemon to run.
    static func configurationFault(at location: DaemonLocation, for layout: Layout) -> String? {
        guard let path = location.path(), let variables = DaemonEnvironment.variables(for: layout) else {
            return nil
        }
        let report = unsafe clinux_memfd("touchstoned-check")
        defer { if report >= 0 { close(report) } }
        let pid = unsafe withCStrings([path, "--check-configuration"]) { arguments in
            unsafe withCStrings(variables.map { "\($0.key)=\($0.value)" }) { environment in
                unsafe clinux_spawn(path, arguments, environment, -1, -1, report)
            }
        }
        guard pid > 0, case .exited = wait(for: pid) else { return nil }
        let text = said(in: report)
        return text.hasPrefix(": ") ? String(text.dropFirst(2)) : nil
    }

    private enum Outcome: Equatable {
        case ready
        case exited(CInt)
        case killed(CInt)
        case slow

        var name: String {
            switch self {
            case .ready: "ready"
            case .exited(let status): "exit \(status)"
            case .killed(let signal): "signal \(signal)"
            case .slow: "timeout"
            }
        }
    }

    private static func wait(for pid: pid_t) -> Outcome {
        let handle = clinux_pidfd_open(pid)
        defer { if handle >= 0 { close(handle) } }
        var isSlow = false
        if handle >= 0 {
            // pidfd_open(2): readable once the process has ended.
            isSlow = !Descriptor.isReadable(handle, until: .now + patience)
            if isSlow { kill(pid, SIGKILL) }
        }
        var status: CInt = 0
        // ECHILD: the app reaps all children itself. Connecting shows whether the daemon started.
        guard SystemCall.uninterrupted({ unsafe waitpid(pid, &status, 0) }) >= 0 else { return .ready }
        if isSlow { return .slow }
        // wait(2): the low seven bits are the signal, the next byte is the exit status.
        if status & 0x7F != 0 { return .killed(status & 0x7F) }
        return status == 0 ? .ready : .exited(status >> 8)
    }

    /// The first line of the daemon's output, reduced to printable characters.
    private static func said(in report: CInt) -> String {
        var octets = [UInt8](repeating: 0, count: longestReport)
        let count = unsafe pread(report, &octets, octets.count, 0)
        guard count > 0 else { return "" }
        let line = String(decoding: octets[..<count], as: UTF8.self).unicodeScalars
            .prefix { $0 != "\n" }
            .filter {
                !$0.properties.isDefaultIgnorableCodePoint && $0.properties.generalCategory != .control
            }
        var text = String(String.UnicodeScalarView(line))
        if text.hasPrefix("error: ") { text.removeFirst("error: ".count) }
        return text.isEmpty ? "" : ": " + text
    }
}

/// Calls `body` with `texts` as a null-terminated array of C strings.
func withCStrings<R>(
    _ texts: [String],
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeBufferPointer { list in
        guard let start = list.baseAddress else {
            preconditionFailure("an array with an element has a start")
        }
        return unsafe body(start)
    }
}
