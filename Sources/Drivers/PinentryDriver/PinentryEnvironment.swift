import CLinux
import Glibc

/// The session variables that a pinentry program on a display needs, and the environment it gets.
public struct PinentryEnvironment: Sendable, Equatable {
    /// `XDG_RUNTIME_DIR`.
    public var runtimeDirectory: String?
    /// `DBUS_SESSION_BUS_ADDRESS`.
    public var sessionBus: String?
    /// `XAUTHORITY`, for a request that has none.
    public var xAuthority: String?

    /// Describes a session; without arguments, no session.
    public init(runtimeDirectory: String? = nil, sessionBus: String? = nil, xAuthority: String? = nil) {
        self.runtimeDirectory = runtimeDirectory
        self.sessionBus = sessionBus
        self.xAuthority = xAuthority
    }

    /// The session that this process belongs to.
    public static var current: PinentryEnvironment { of(variable) }

    /// The session of an environment.
    ///
    /// - Parameter variable: looks up a variable; nil for an empty one.
    /// - Returns: the session that its variables name.
    package static func of(_ variable: (String) -> String?) -> PinentryEnvironment {
        var session = PinentryEnvironment(
            runtimeDirectory: variable("XDG_RUNTIME_DIR"),
            sessionBus: variable("DBUS_SESSION_BUS_ADDRESS"),
            xAuthority: variable("XAUTHORITY")
        )
        // Both are the libraries' own defaults, which depend on variables that the program does not get.
        if session.sessionBus == nil, let directory = session.runtimeDirectory, exists(directory + "/bus") {
            session.sessionBus = "unix:path=\(directory)/bus"
        }
        if session.xAuthority == nil, let home = variable("HOME"), exists(home + "/.Xauthority") {
            session.xAuthority = home + "/.Xauthority"
        }
        return session
    }

    /// The complete environment of the program, as `NAME=value`.
    func variables(for place: PromptPlace) -> [String] {
        var variables = [
            "PATH=/usr/bin:/bin",
            "LANG=\(place.characterType)",
            "LC_CTYPE=\(place.characterType)",
            "TERM=\(place.terminalType)",
        ]
        guard place.hasDisplay else { return variables }
        let more = [
            ("DISPLAY", place.display),
            ("WAYLAND_DISPLAY", place.waylandDisplay),
            ("XAUTHORITY", place.xAuthority ?? xAuthority),
            ("XDG_RUNTIME_DIR", runtimeDirectory),
            ("DBUS_SESSION_BUS_ADDRESS", sessionBus),
        ]
        for case (let name, let value?) in more { variables.append("\(name)=\(value)") }
        return variables
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe clinux_secure_getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }
}
