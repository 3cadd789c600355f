import CLinux
import Glibc
import KeychainModel

/// Tells whoever started the daemon in the background how it went, once.
struct Report: Sendable {
    private let descriptor: CInt

    /// Forks; goes on in the daemon, while the program that was started waits for the report.
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

    /// The daemon listens: standard input, output and error are let go of.
    func ready() { _ = clinux_daemon_report(descriptor, 0) }

    /// The daemon ends; what was wrong was said on standard error.
    func failed() { _ = clinux_daemon_report(descriptor, UInt8(StartError.exitStatus)) }
}
