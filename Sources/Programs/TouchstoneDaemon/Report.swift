import CLinux
import Glibc
import KeychainModel

/// Reports the daemon's start once to the process that started it in the background.
struct Report: Sendable {
    private let descriptor: CInt

    /// Forks and returns in the daemon, while the original process waits for the report.
    ///
    /// No other thread may run.
    static func afterForking() throws(StartError) -> Report {
        let descriptor = clinux_daemonize()
        guard descriptor >= 0 else {
            throw StartError(
                "the daemon cannot be forked (\(SystemError.name(of: errno)))",
                hint: "use --foreground"
            )
        }
        return Report(descriptor: descriptor)
    }

    /// Reports that the daemon listens, and releases standard input, output and error.
    func ready() { _ = clinux_daemon_report(descriptor, 0) }

    /// Reports that the daemon exits; the fault is already on standard error.
    func failed() { _ = clinux_daemon_report(descriptor, UInt8(StartError.exitStatus)) }
}
