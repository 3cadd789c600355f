import Glibc
import MessageBus

/// The bus to reach fprintd on, and the user who must own fprintd's name.
public enum BusAddress: Hashable, Sendable {
    /// The machine's system bus at its fixed path, ignoring `DBUS_SYSTEM_BUS_ADDRESS`; fprintd must be root's.
    case system
    /// A private bus of a test; fprintd and logind must belong to `ownerUserID`.
    case testing(String, ownerUserID: UInt32 = 0)

    /// The path that the D-Bus specification names ("Well-known Message Bus Instances").
    static let systemSocket = "/run/dbus/system_bus_socket"

    /// The user who must own fprintd's and logind's names.
    var ownerUserID: UInt32 {
        switch self {
        case .system: 0
        case .testing(_, let ownerUserID): ownerUserID
        }
    }

    /// The address for libsystemd.
    ///
    /// - Throws: `ENOENT` without a bus, `EPERM` if the socket is not root's.
    func resolved() throws(BusError) -> String {
        switch self {
        case .testing(let address, _): return address
        case .system:
            var status = stat()
            guard unsafe lstat(Self.systemSocket, &status) == 0 else { throw .system(errno: errno) }
            guard status.st_uid == 0, status.st_mode & S_IFMT == S_IFSOCK else { throw .system(errno: EPERM) }
            return "unix:path=\(Self.systemSocket)"
        }
    }
}
