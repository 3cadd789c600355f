import CLinux
import Foundation
import Glibc

/// The broker of a machine: its program as root with one capability, on the socket that the service manager makes.
package final class SystemBroker: Sendable {
    /// Its socket's path inside the machine.
    package static let socket = "/run/touchstone-broker/socket"

    /// Its process.
    package let process: ChildProcess
    private let path: String

    init(_ process: ChildProcess, _ path: String) {
        (self.process, self.path) = (process, path)
    }

    deinit { stop() }

    /// Ends it, and removes its socket as the service manager does (`RemoveOnStop=`).
    package func stop() {
        process.stop()
        unsafe unlink(path)
    }

    /// Suspends it (SIGSTOP): it answers no request until ``goOn()``.
    package func halt() { kill(process.processID, SIGSTOP) }

    /// Resumes it (SIGCONT).
    package func goOn() { kill(process.processID, SIGCONT) }
}

extension SystemModeMachine {
    /// Whether the broker's program has been built.
    package static var hasBroker: Bool { unsafe access(Programs.directory + "/touchstone-broker", X_OK) == 0 }

    /// Starts the broker as its unit does: root, with CAP_SYS_PTRACE in the bounding set and nothing else.
    ///
    /// - Parameters:
    ///   - templates: where fprintd keeps its templates; nil for `/var/lib/fprint`.
    ///   - options: its command-line options; by default daemons need not be in the control group of their unit.
    /// - Returns: the broker, listening.
    /// - Throws: ``TestKitError``.
    package func startBroker(templates: String? = nil, options: [String] = ["--all-users"]) async throws
        -> SystemBroker
    {
        let program = Self.programs + "/touchstone-broker"
        if unsafe access(outside(program), F_OK) != 0 {
            let copied = try await run(
                ["/bin/cp", Programs.directory + "/touchstone-broker", program],
                as: .root
            )
            guard copied.status == 0 else { throw TestKitError.unexpected("cp: \(copied.output)") }
        }
        let path = outside(SystemBroker.socket)
        _ = unsafe mkdir((path as NSString).deletingLastPathComponent, 0o755)
        unsafe unlink(path)
        let listener = try UnixSocket.listen(at: path, .packets, backlog: 64)
        defer { close(listener) }
        let account = Account.touchstone
        guard unsafe chown(path, account.uid, account.uid) == 0, unsafe chmod(path, 0o600) == 0 else {
            throw TestKitError.system("chown", errno: errno)
        }
        let pass = "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$@\""
        let log = directory.appending("broker-\(UUID().uuidString).log")
        let process = try await start(
            [
                "/usr/bin/setpriv", "--bounding-set=-all,+sys_ptrace", "--inh-caps=-all",
                "--no-new-privs", "--pdeathsig=KILL", "--",
                "/bin/sh", "-c", pass, "sh", program, "--machine", "\(namespace.process)",
                "--template-directory", templates ?? "/var/lib/fprint",
            ] + options,
            as: .root,
            input: listener,
            log: log
        )
        let broker = SystemBroker(process, path)
        try await Deadline.wait(for: "the broker") { () -> Bool? in
            let name = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(process.processID)/exe"
            )
            if name?.hasSuffix("/touchstone-broker") == true { return true }
            guard process.isRunning else {
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw TestKitError.unexpected("the broker ended: \(text)")
            }
            return nil
        }
        return broker
    }
}
