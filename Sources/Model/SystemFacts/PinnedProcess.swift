import CLinux
import Glibc
import KeychainModel

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
    package init?(handle: CInt) {
        guard let pid = Self.number(of: handle), let directory = ProcessDirectory(pid),
            Self.number(of: handle) == pid
        else { return nil }
        self.handle = handle
        self.pid = pid
        self.directory = directory
    }

    /// Whether it is running: a pidfd becomes readable when its process ends, even before that is reaped.
    package var isRunning: Bool {
        var descriptor = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        let count = SystemCall.uninterrupted { unsafe poll(&descriptor, 1, 0) }
        return count == 0 && Self.number(of: handle) == pid
    }

    private static func number(of handle: CInt) -> Int32? {
        ProcFile.line("Pid", of: "/proc/self/fdinfo/\(handle)").flatMap { Int32($0) }.flatMap {
            $0 > 0 ? $0 : nil
        }
    }
}

/// Files of `/proc`, read as a whole and with a limit.
package enum ProcFile {
    /// The value of a line `NAME:\tVALUE`; nil if there is none.
    package static func line(_ name: String, of path: String, in directory: CInt = AT_FDCWD) -> String? {
        guard let text = text(of: path, in: directory, atMost: 1 << 16) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
            return String(line.dropFirst(name.utf8.count + 1).drop { $0 == " " || $0 == "\t" })
        }
        return nil
    }

    /// The text of a file; nil if it cannot be read, is longer or is not UTF-8.
    package static func text(of path: String, in directory: CInt = AT_FDCWD, atMost limit: Int) -> String? {
        let descriptor = unsafe openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var octets: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = SystemCall.uninterrupted { unsafe read(descriptor, &room, room.count) }
            guard count >= 0 else { return nil }
            if count == 0 { return String(validating: octets, as: UTF8.self) }
            octets += room[..<count]
            guard octets.count <= limit else { return nil }
        }
    }
}
