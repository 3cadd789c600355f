import Foundation
import Glibc
import TouchstoneTesting

/// Installs Touchstone's files in a machine's private root as the package does, and starts what systemd would start.
struct Installation: Sendable {
    /// The agent's path.
    static let agent = SystemModeMachine.programs + "/touchstone-agent"
    private static let broker = SystemModeMachine.programs + "/touchstone-broker"

    private let machine: SystemModeMachine

    init(_ machine: SystemModeMachine) { self.machine = machine }

    /// Installs all files; the machine's own directories are copied first, so that nothing is written to them.
    func install() async throws {
        let script = """
            set -eu
            umask 022
            own() {
                copy=/run/installed/$(echo "$1" | tr / _)
                mkdir -p /run/installed
                cp -a "$1" "$copy"
                mount --bind "$copy" "$1"
            }
            own /usr/lib/systemd/system
            own /usr/share/polkit-1/rules.d
            cd '\(UnitSandbox.shippedUnits)'
            install -m 644 -t /usr/lib/systemd/system touchstoned@.service touchstoned@.socket touchstone-broker.service \\
                touchstone-broker.socket
            install -m 644 -t /usr/share/polkit-1/rules.d 50-touchstone.rules
            cd '\(Programs.directory)'
            install -t \(SystemModeMachine.programs) touchstone-broker touchstone-agent
            chown root:touchstone-agent \(Self.agent)
            chmod 2755 \(Self.agent)
            """
        let finished = try await machine.run(["/bin/sh", "-c", script], as: .root)
        guard finished.status == 0 else { throw Surprise("the installation failed: \(finished.output)") }
    }

    /// Makes the broker's socket and starts it in its unit's sandbox.
    ///
    /// - Parameter templates: fprintd's template directory; in an installed system `/var/lib/fprint`.
    /// - Returns: the broker, which ends with the value.
    /// - Throws: ``Surprise`` or ``TestKitError`` if the socket cannot be made.
    func startBroker(templates: String) async throws -> ChildProcess {
        let directory = machine.outside("/run/touchstone-broker")
        guard mkdir(directory, 0o755) == 0 else { throw Surprise("mkdir: \(errno)") }
        let path = "\(directory)/socket"
        let listener = try UnixSocket.listen(at: path, .packets, backlog: 64)
        defer { close(listener) }
        guard chmod(path, 0o600) == 0, chown(path, SystemModeMachine.Account.touchstone.uid, 0) == 0
        else { throw Surprise("no socket for the broker: \(errno)") }
        // The process whose mounts are the machine's; in an installed system process 1.
        let first = machine.outside("").split(separator: "/")[1]
        let sandbox = try UnitSandbox(shipped: "touchstone-broker.service")
        return try await machine.start(
            try sandbox.wrapper(in: machine.directory, listens: true) + [
                Self.broker, "--machine", "\(first)", "--template-directory", templates,
                // There is no service manager here to tell the daemons of different users apart.
                "--all-users",
            ],
            as: .root,
            input: listener,
            log: machine.directory.appending("broker.log")
        )
    }
}
