import CLinux
import Glibc
package import KeychainModel

/// A process pinned by a pidfd, for a program that may inspect any process (CAP_SYS_PTRACE).
///
/// `/proc/self/fdinfo/FD` states the pid of the pidfd's process: if it still does after a `/proc` directory was
/// opened, that directory belongs to this process, because it had the pid the whole time.
package struct PinnedProcess {
    /// The pidfd, which the caller still owns.
    private let handle: CInt
    /// Its pid.
    package let pid: Int32
    package let directory: ProcessDirectory

    /// Nil for a descriptor that is not a pidfd, or for a process that has ended.
    ///
    /// - Throws: ``UnreadableFile`` if that cannot be determined.
    package init?(handle: CInt) throws(UnreadableFile) {
        guard let pid = try Self.number(of: handle), let directory = try ProcessDirectory(pid),
            try Self.number(of: handle) == pid
        else { return nil }
        self.handle = handle
        self.pid = pid
        self.directory = directory
    }

    /// Whether it is running: a pidfd becomes readable when its process ends, even before that is reaped.
    package var isRunning: Bool {
        var descriptor = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        let count = SystemCall.uninterrupted { unsafe poll(&descriptor, 1, 0) }
        return count == 0
    }

    /// The pid that a pidfd stands for; nil if its process has ended, or for another kind of descriptor.
    private static func number(of handle: CInt) throws(UnreadableFile) -> Int32? {
        let text = try SmallFile.value("Pid", of: "/proc/self/fdinfo/\(handle)")
        return text.flatMap { Int32($0) }.flatMap { $0 > 0 ? $0 : nil }
    }
}
