import CLinux
import Glibc

/// What a pinentry program on a display needs from the session, and what it is given in all.
public struct PinentryEnvironment: Sendable, Equatable {
    /// `XDG_RUNTIME_DIR`.
    public var runtimeDirectory: String?
    /// `DBUS_SESSION_BUS_ADDRESS`.
    public var sessionBus: String?
    /// `XAUTHORITY`, where a request brings none.
    public var xAuthority: String?

    /// Describes a session; nothing given means that there is none.
    public init(runtimeDirectory: String? = nil, sessionBus: String? = nil, xAuthority: String? = nil) {
        self.runtimeDirectory = runtimeDirectory
        self.sessionBus = sessionBus
        self.xAuthority = xAuthority
    }

    /// The session that this process belongs to.
    public static var current: PinentryEnvironment { of(variable) }

    /// The session of an environment.
    ///
    /// - Parameter variable: looks a variable up; nil for one that is empty.
    /// - Returns: the session that its variables name.
    package static func of(_ variable: (String) -> String?) -> PinentryEnvironment {
        var session = PinentryEnvironment(
            runtimeDirectory: variable("XDG_RUNTIME_DIR"),
            sessionBus: variable("DBUS_SESSION_BUS_ADDRESS"),
            xAuthority: variable("XAUTHORITY")
        )
        // Both defaults are those of the libraries, which look for variables that the program is not given.
        if session.sessionBus == nil, let directory = session.runtimeDirectory, exists(directory + "/bus") {
            session.sessionBus = "unix:path=\(directory)/bus"
        }
        if session.xAuthority == nil, let home = variable("HOME"), exists(home + "/.Xauthority") {
            session.xAuthority = home + "/.Xauthority"
        }
        return session
    }

    /// All variables of the program, as `NAME=value`.
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
