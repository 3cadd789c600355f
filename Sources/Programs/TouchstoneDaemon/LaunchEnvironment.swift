import CLinux
import Glibc
import KeychainModel
import PeerSockets
import PinentryDriver

/// The daemon's environment, read before the daemon clears it.
struct LaunchEnvironment: Sendable {
    /// The location of the keychain; nil without a home.
    let layout: Layout?
    /// `HOME`; nil in system mode, where the daemon may not read the owner's files.
    let home: String?
    /// The session variables for prompts on a display; empty in system mode.
    let pinentry: PinentryEnvironment
    /// `NOTIFY_SOCKET`: the socket on which the service manager receives readiness.
    let notifySocket: String?
    /// The listening socket that the service manager passed.
    let activationSocket: CInt?
    /// The listening socket of the ssh-agent that the service manager passed, told by the name it is bound to.
    let agentSocket: CInt?

    /// `SD_LISTEN_FDS_START`.
    private static let firstActivationSocket: CInt = 3
    /// For libraries that look up programs later.
    private static let path = "/usr/bin:/bin"

    /// All variables that the daemon or the prompts of its session use.
    private static let names = [
        "HOME", "PATH", "TOUCHSTONE_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME",
        "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS",
    ]

    /// Executes the program again without all other variables, if there are any.
    ///
    /// Some of them have acted on the program before its first instruction (`LD_PRELOAD`, `LD_LIBRARY_PATH`,
    /// `GLIBC_TUNABLES`), and any library may read others: the restarted daemon has none of them. It is the same
    /// process, with the same arguments and descriptors.
    static func restartWithoutOthers() throws(StartError) {
        var pointers: [UnsafePointer<CChar>?] = unsafe names.map { name in
            unsafe UnsafePointer(strdup(name))
        }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
        let result = unsafe pointers.withUnsafeBufferPointer { list in
            unsafe list.baseAddress.map { unsafe clinux_restart_with_variables($0) } ?? -1
        }
        guard result == 0 else {
            throw StartError(
                "the daemon cannot be started with a clean environment (\(SystemError.name(of: errno)))",
                hint: "start it by env -i, with HOME and XDG_RUNTIME_DIR"
            )
        }
    }

    /// Reads the needed variables and clears the environment.
    ///
    /// `systemOwner` is the keychain's owner in system mode; nil for per-user mode, in which the environment determines
    /// all paths.
    static func take(systemOwner: Owner?) -> LaunchEnvironment {
        let sockets = activationSockets()
        let agent = sockets.first { Listener.path(of: $0)?.hasSuffix("/ssh-agent") == true }
        let taken = LaunchEnvironment(
            layout: systemOwner.map { .ofSystem(uid: $0.uid) } ?? Layout(variable: variable),
            home: systemOwner == nil ? variable("HOME") : nil,
            pinentry: systemOwner == nil ? .current : PinentryEnvironment(),
            notifySocket: variable("NOTIFY_SOCKET"),
            activationSocket: sockets.first { $0 != agent },
            agentSocket: agent
        )
        _ = clinux_clear_environment()
        unsafe setenv("PATH", path, 1)
        DaemonHardening.silenceLibraries()
        return taken
    }

    /// sd_listen_fds(3): the variables apply only to the process that they name.
    private static func activationSockets() -> [CInt] {
        guard let pid = variable("LISTEN_PID").flatMap({ pid_t($0) }), pid == getpid(),
            let count = variable("LISTEN_FDS").flatMap({ CInt($0) }), (1...2).contains(count)
        else { return [] }
        return (0..<count).map { firstActivationSocket + $0 }
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe clinux_secure_getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}
