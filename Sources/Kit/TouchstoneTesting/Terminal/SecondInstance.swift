import Glibc
import SecretMemory

/// A second devpts instance, whose terminals have the device numbers of the first one's.
package final class SecondInstance: Sendable {
    /// Where it is mounted.
    package let path: String
    private let directory: TemporaryDirectory
    private let primaries = Guarded<[CInt]>([])

    /// Whether this machine lets tests mount.
    package static let isPossible: Bool = {
        guard geteuid() == 0, let directory = try? TemporaryDirectory() else { return false }
        guard mount(directory.path) else { return false }
        return unsafe umount2(directory.path, CInt(MNT_DETACH)) == 0
    }()

    /// Mounts it.
    ///
    /// - Throws: ``TestKitError``.
    package init() throws {
        directory = try TemporaryDirectory(mode: 0o711)
        path = directory.path
        guard Self.mount(path) else { throw TestKitError.system("mount devpts", errno: errno) }
    }

    deinit {
        for primary in primaries.withLock({ $0 }) { close(primary) }
        _ = unsafe umount2(path, CInt(MNT_DETACH))
    }

    private static func mount(_ path: String) -> Bool {
        unsafe Glibc.mount("devpts", path, "devpts", 0, "ptmxmode=0666,mode=0620") == 0
    }

    /// Makes a terminal with the number of another one.
    ///
    /// - Returns: its path, and its primary side, which this value closes.
    package func terminal(like other: PseudoTerminal) throws -> (path: String, primary: CInt) {
        let number = CUnsignedInt(other.name.dropFirst("/dev/pts/".count))
        while true {
            let primary = unsafe open(path + "/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
            guard primary >= 0 else { throw TestKitError.system("open ptmx", errno: errno) }
            primaries.withLock { $0.append(primary) }
            var (unlocked, found) = (CInt(0), CUnsignedInt(0))
            // TIOCSPTLCK and TIOCGPTN (linux/tty.h).
            guard let number, unsafe ioctl(primary, 0x4004_5431, &unlocked) == 0,
                unsafe ioctl(primary, 0x8004_5430, &found) == 0, found <= number
            else { throw TestKitError.system("a terminal like \(other.name)", errno: errno) }
            if found == number { return ("\(path)/\(number)", primary) }
        }
    }
}
