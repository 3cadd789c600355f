import Foundation
import Glibc
import TouchstoneTesting

/// Touchstone's files in a machine's private root, as the package has them, and what systemd would start there.
struct Installation: Sendable {
    /// Where the agent is.
    static let agent = SystemModeMachine.programs + "/touchstone-agent"
    private static let broker = SystemModeMachine.programs + "/touchstone-broker"

    private let machine: SystemModeMachine

    init(_ machine: SystemModeMachine) { self.machine = machine }

    /// Puts everything in its place; the machine's own directories are copied before, so that nothing is written there.
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
    /// - Parameter templates: where fprintd keeps templates; in an installed system `/var/lib/fprint`.
    /// - Returns: the broker, which ends with the value.
    /// - Throws: ``Surprise`` or ``TestKitError`` where there is no socket.
    func startBroker(templates: String) async throws -> ChildProcess {
        let directory = machine.outside("/run/touchstone-broker")
        guard mkdir(directory, 0o755) == 0 else { throw Surprise("mkdir: \(errno)") }
        let path = "\(directory)/socket"
        let listener = try UnixSocket.listen(at: path, .packets, backlog: 64)
        defer { close(listener) }
        guard chmod(path, 0o600) == 0, chown(path, SystemModeMachine.Account.touchstone.uid, 0) == 0
        else { throw Surprise("no socket for the broker: \(errno)") }
        // The process whose mounts are the machine's, which in an installed system is the first of all.
        let first = machine.outside("").split(separator: "/")[1]
        let sandbox = try UnitSandbox(shipped: "touchstone-broker.service")
        return try await machine.start(
            try sandbox.wrapper(in: machine.directory, listens: true) + [
                Self.broker, "--machine", "\(first)", "--template-directory", templates,
                // No service manager tells the daemons of users apart here.
                "--all-users",
            ],
            as: .root,
            input: listener,
            log: machine.directory.appending("broker.log")
        )
    }
}
