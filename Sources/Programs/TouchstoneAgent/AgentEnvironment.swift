import CLinux
import Glibc
import KeychainModel
import PinentryDriver

/// What the agent takes from its environment, before it clears it.
///
/// For the program that draws, which is an ordinary one of the user's, and never for itself: whoever starts the agent chooses
/// its environment. The one exception is `TOUCHSTONE_HOME`, which a program with rights of its own does not see.
struct AgentEnvironment {
    /// `DISPLAY`.
    let display: String?
    /// `WAYLAND_DISPLAY`.
    let waylandDisplay: String?
    /// `XAUTHORITY`, and what else a box on a display needs.
    let session: PinentryEnvironment
    /// Where a keychain lies that was moved, for tests; nil for that of the system.
    let layout: Layout?

    /// The longest value that is looked at, in bytes.
    private static let longestValue = 4096

    /// Reads what is needed and removes everything.
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
