/// The process at the other end of a connection, as reported by the kernel; never taken from a message.
public struct Caller: Sendable, Hashable {
    /// The peer's user.
    public let uid: UInt32
    /// The process that connected; 0 if it can no longer be determined.
    public let pid: Int32
    /// When that process started, in clock ticks since boot (`/proc/PID/stat`, field 22); 0 when unknown.
    public let processStart: UInt64
    /// The program's path, if readable; a hint: programs of one user can imitate each other.
    public let program: String?
    /// The access group whose items it sees.
    public let accessGroup: AccessGroup
    /// The door that it came by, whose texts a prompt then has; nil for a program that asks itself.
    public let door: Door?
    /// The programs that started it, the nearest first, separated by ", "; empty if none is known.
    ///
    /// A hint, as the path is; no part of the identity.
    public var startedBy = ""

    /// A way to the keychain for programs that were not written for it.
    public enum Door: String, Sendable {
        /// The ssh-agent: the keys that every program of the user may use.
        case sshAgent = "ssh-agent"
        /// The Secret Service (`org.freedesktop.secrets`): the items of all programs that store them there.
        case secretService = "Secret Service"
    }

    /// Describes a peer.
    public init(
        uid: UInt32,
        pid: Int32,
        processStart: UInt64,
        program: String?,
        accessGroup: AccessGroup,
        door: Door? = nil
    ) {
        self.uid = uid
        self.pid = pid
        self.processStart = processStart
        self.program = program
        self.accessGroup = accessGroup
        self.door = door
    }

    /// The name shown in prompts: the program's path and process number, or "an unknown program"; after the door's, which stands
    /// first so that no path can imitate it.
    public var displayName: String {
        let name = program.map { "\($0) (process \(pid))" } ?? "an unknown program"
        return door.map { "the \($0.rawValue), for \(name)" } ?? name
    }
}
