import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "A daemon under a tracer at its start",
    .serialized,
    .enabled(if: Programs.isBuilt && access("/usr/bin/strace", X_OK) == 0, "touchstoned or strace is missing")
)
struct TracedStartTests {
    /// What has the daemon in its hand.
    enum Tracer: CaseIterable, Sendable {
        case none, stays, leaves
    }

    @Test("is told by doctor, also once the tracer has gone", arguments: Tracer.allCases)
    func told(tracer: Tracer) async throws {
        let strace = ["/usr/bin/strace", "-f", "-qq", "-e", "trace=none", "-o", "/dev/null"]
        let daemon = try await RunningDaemon(DaemonHome(), through: tracer == .none ? [] : strace)
        let (command, environment) = (Programs.directory + "/touchstone", daemon.home.environment)
        let status = try await Finished.running([command, "status", "--json"], environment: environment)
        let process = try #require(
            status.output.firstMatch(of: /"daemonProcess": (\d+)/).flatMap { Int32($0.output.1) },
            "\(status.output)"
        )
        // A traced daemon is no child of this process.
        defer { if tracer != .none { kill(process, SIGKILL) } }
        if tracer == .leaves {
            // The kernel lets its processes go on.
            daemon.process.stop()
        }
        let doctor = try await Finished.running([command, "doctor"], environment: environment)
        let line = doctor.output.split(separator: "\n").first { $0.contains("tracer") }
        #expect((line?.contains("every secret") == true) == (tracer != .none), "\(doctor.output)")
        #expect(daemon.log.contains("tamperDetected") == (tracer != .none), "\(daemon.log)")
    }
}
