/// The paths of a user's keychain, by which client and daemon find each other.
///
/// `TOUCHSTONE_HOME` moves everything below one directory (tests): `run/`, `data/` and the configuration. Otherwise
/// the XDG base directories apply: the socket in `$XDG_RUNTIME_DIR/touchstone`, the store in
/// `$XDG_DATA_HOME/touchstone`, the configuration in `$XDG_CONFIG_HOME/touchstone`. If `XDG_RUNTIME_DIR` is not set,
/// `/run/user/UID` is used if it exists and only this user may enter it.
///
/// In system mode the environment is ignored: see ``ofSystem(uid:)``.
public struct Layout: Sendable, Equatable {
    /// The directory of the socket, mode 0700; in system mode root's, mode 0755.
    public let runtimeDirectory: String
    /// The directory of keybag and items, mode 0700.
    public let dataDirectory: String
    /// The daemon's configuration file; may be missing.
    public let configurationFile: String
    /// The lock file that ensures a single daemon: beside the socket, in system mode beside the keybag.
    public let lockFile: String

    /// The socket that the daemon listens on.
    public var socket: String { runtimeDirectory + "/socket" }
    /// The socket of the ssh-agent (`SSH_AUTH_SOCK`).
    public var agentSocket: String { runtimeDirectory + "/ssh-agent" }
    /// The longest socket path that `sockaddr_un` holds, without its NUL.
    public static let longestSocketPath = 107

    /// Sets the paths one by one; the lock is beside the socket.
    public init(runtimeDirectory: String, dataDirectory: String, configurationFile: String) {
        self.init(
            runtimeDirectory: runtimeDirectory,
            dataDirectory: dataDirectory,
            configurationFile: configurationFile,
            lockDirectory: runtimeDirectory
        )
    }

    private init(
        runtimeDirectory: String,
        dataDirectory: String,
        configurationFile: String,
        lockDirectory: String
    ) {
        self.runtimeDirectory = runtimeDirectory
        self.dataDirectory = dataDirectory
        self.configurationFile = configurationFile
        lockFile = lockDirectory + "/lock"
    }

    /// The paths of a user's keychain in system mode, where the daemon runs under its own account.
    ///
    /// The service manager creates the socket in root's directory, so that no other user can replace it. Only the
    /// daemon's account can access the store and the lock in it.
    public static func ofSystem(uid: UInt32) -> Layout {
        let dataDirectory = "/var/lib/touchstone/\(uid)"
        return Layout(
            runtimeDirectory: "/run/touchstone/\(uid)",
            dataDirectory: dataDirectory,
            configurationFile: "/etc/touchstone/touchstoned.conf",
            lockDirectory: dataDirectory
        )
    }

    /// Derives the paths from the environment.
    ///
    /// Without any runtime directory the socket is in the data directory, never in `/tmp`. Nil if there is no
    /// absolute home directory to start from.
    /// - Parameter variable: looks up an environment variable; empty values and relative paths count as missing.
    public init?(variable: (String) -> String?) {
        self.init(variable: variable, userDirectory: { UserRuntimeDirectory.find() })
    }

    /// ``init(variable:)`` with a replacement for `/run/user/UID` if `XDG_RUNTIME_DIR` is not set; nil for none.
    package init?(variable: (String) -> String?, userDirectory: () -> String?) {
        func path(_ name: String) -> String? {
            guard let value = variable(name), value.hasPrefix("/") else { return nil }
            return value.count > 1 && value.hasSuffix("/") ? String(value.dropLast()) : value
        }
        if let home = path("TOUCHSTONE_HOME") {
            self.init(
                runtimeDirectory: home + "/run",
                dataDirectory: home + "/data",
                configurationFile: home + "/touchstoned.conf"
            )
            return
        }
        let home = path("HOME")
        guard let data = path("XDG_DATA_HOME") ?? home.map({ $0 + "/.local/share" }),
            let configuration = path("XDG_CONFIG_HOME") ?? home.map({ $0 + "/.config" })
        else { return nil }
        let dataDirectory = data + "/touchstone"
        self.init(
            runtimeDirectory: (path("XDG_RUNTIME_DIR") ?? userDirectory()).map { $0 + "/touchstone" }
                ?? dataDirectory + "/run",
            dataDirectory: dataDirectory,
            configurationFile: configuration + "/touchstone/touchstoned.conf"
        )
    }
}
