import CLinux
import Glibc
import KeychainModel
import PinentryDriver

/// The agent's environment, read before the agent clears it.
///
/// The values are for the pinentry program, which runs with the user's rights, and never for the agent itself: its
/// environment is chosen by whatever program started it. The one exception is `TOUCHSTONE_HOME`, which a set-gid
/// program does not see (secure_getenv(3)).
struct AgentEnvironment {
    /// `DISPLAY`.
    let display: String?
    /// `WAYLAND_DISPLAY`.
    let waylandDisplay: String?
    /// `XAUTHORITY` and the other variables that a prompt on a display needs.
    let session: PinentryEnvironment
    /// The location of a keychain that tests moved; nil for the system's.
    let layout: Layout?

    /// The longest accepted value, in bytes.
    private static let longestValue = 4096

    /// Reads the needed variables and clears the environment.
    static func take() -> AgentEnvironment {
        let home = unsafe clinux_secure_getenv("TOUCHSTONE_HOME").flatMap {
            unsafe String(validatingCString: $0)
        }
        let taken = AgentEnvironment(
            display: variable("DISPLAY"),
            waylandDisplay: variable("WAYLAND_DISPLAY"),
            session: .of(variable),
            layout: home.flatMap { home in Layout(variable: { $0 == "TOUCHSTONE_HOME" ? home : nil }) }
        )
        _ = clinux_clear_environment()
        return taken
    }

    private static func variable(_ name: String) -> String? {
        guard let text = unsafe getenv(name), let value = unsafe String(validatingCString: text),
            !value.isEmpty, value.utf8.count <= longestValue
        else { return nil }
        return value
    }
}
