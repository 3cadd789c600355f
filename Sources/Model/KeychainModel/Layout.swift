/// Where a user's keychain lives; client and daemon find each other by it.
///
/// `TOUCHSTONE_HOME` moves everything below one directory (tests): `run/`, `data/` and the configuration.
/// Otherwise the XDG base directories count: the socket in `$XDG_RUNTIME_DIR/touchstone`, the store in
/// `$XDG_DATA_HOME/touchstone`, the configuration in `$XDG_CONFIG_HOME/touchstone`. Where `XDG_RUNTIME_DIR` is not set,
/// `/run/user/UID` stands for it if it is there and this user's alone.
///
/// In system mode no environment counts: ``ofSystem(uid:)`` has the places.
public struct Layout: Sendable, Equatable {
    /// The directory of the socket, mode 0700; in system mode root's, mode 0755.
    public let runtimeDirectory: String
    /// The directory of keybag and items, mode 0700.
    public let dataDirectory: String
    /// The daemon's configuration file; need not exist.
    public let configurationFile: String
    /// The file whose lock makes the daemon the only one: beside the socket, in system mode beside the keybag.
    public let lockFile: String

    /// The socket that the daemon listens on.
    public var socket: String { runtimeDirectory + "/socket" }
    /// The longest socket path that `sockaddr_un` holds, without its NUL.
    public static let longestSocketPath = 107

    /// Names the places one by one; the lock is beside the socket.
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

    /// The places of a user's keychain in system mode, where the daemon runs under an account of its own.
    ///
    /// The service manager makes the socket, in a directory that is root's: nobody else can put another one there. The
    /// store is the account's alone, and so is the lock in it.
    public static func ofSystem(uid: UInt32) -> Layout {
        let dataDirectory = "/var/lib/touchstone/\(uid)"
        return Layout(
            runtimeDirectory: "/run/touchstone/\(uid)",
            dataDirectory: dataDirectory,
            configurationFile: "/etc/touchstone/touchstoned.conf",
            lockDirectory: dataDirectory
        )
    }

    /// Finds the places from the environment.
    ///
    /// Without any runtime directory the socket lies in the data directory, never in `/tmp`.
    /// It is nil when there is no absolute home to start from.
    /// - Parameter variable: looks an environment variable up; empty counts as missing, relative paths too.
    public init?(variable: (String) -> String?) {
        self.init(variable: variable, userDirectory: { UserRuntimeDirectory.find() })
    }

    /// ``init(variable:)`` with another place than `/run/user/UID` where `XDG_RUNTIME_DIR` is not set; nil for none.
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
