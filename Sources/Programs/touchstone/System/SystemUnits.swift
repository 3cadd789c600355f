import Glibc
import KeychainModel

/// The systemd units of one user's daemon in system mode.
struct SystemUnits {
    let uid: UInt32
    private static let program = "/usr/bin/systemctl"
    private static let broker = "touchstone-broker.socket"

    /// Whether systemd runs (sd_booted(3)) and systemctl is installed.
    static var isThere: Bool {
        unsafe access("/run/systemd/system", F_OK) == 0 && access(program, X_OK) == 0
    }

    var socket: String { "touchstoned@\(uid).socket" }
    var service: String { "touchstoned@\(uid).service" }

    /// Starts the broker's socket, which otherwise starts with the first daemon.
    ///
    /// A keychain is moved only if the broker answers.
    static func startBroker() throws(CommandError) { try run(about: broker, ["start", broker]) }

    /// Starts the daemon's socket, now and at every boot.
    func enable() throws(CommandError) { try run("enable", "--now", socket) }

    /// Stops the daemon and its socket, which is then no longer started at boot.
    func disable() throws(CommandError) {
        try run("disable", "--now", socket)
        try run("stop", service)
    }

    /// Removes the socket's file, whose existence tells programs that the keychain is in system mode.
    ///
    /// Stopping the unit keeps the file, so that a stopped socket differs from none.
    func removeSocket() { _ = unsafe unlink(Layout.ofSystem(uid: uid).socket) }

    private func run(_ arguments: String...) throws(CommandError) { try Self.run(about: socket, arguments) }

    private static func run(about unit: String, _ arguments: [String]) throws(CommandError) {
        let child = try ChildProgram(
            program,
            ["systemctl", "--quiet"] + arguments,
            output: STDERR_FILENO
        )
        let status = child.wait()
        guard status == 0 else {
            throw CommandError(
                "systemctl \(arguments.joined(separator: " ")) failed with status \(status)",
                hint: "systemctl status \(unit) says why; then run it again"
            )
        }
    }
}
