import CLinux
import Glibc
package import KeychainModel

/// The file that a process runs, held open without access to its content, so that all facts are about the same file.
package final class ProgramFile {
    private let descriptor: CInt
    /// The kernel's facts about it.
    package let status: Status

    /// The facts about a file.
    package struct Status: Sendable {
        package let device: UInt64
        package let inode: UInt64
        package let owner: UInt32
        package let mode: UInt32
        package let links: UInt32
        /// The mount that it was opened through.
        let mount: UInt64

        init(_ descriptor: CInt, _ path: String) throws(UnreadableFile) {
            var file = clinux_file()
            guard unsafe clinux_look_at(descriptor, &file) == 0 else { throw .system(path) }
            device = file.device
            inode = file.inode
            owner = file.owner
            mode = file.mode
            links = file.links
            mount = file.mount
        }

        /// Whether it is the same file, opened through the same mount.
        func isSame(as other: Status) -> Bool {
            device == other.device && inode == other.inode && mount == other.mount
        }
    }

    /// Nil for a process that runs no program: it has ended, or is the kernel's.
    ///
    /// - Throws: ``UnreadableFile`` if that cannot be determined.
    package init?(of process: ProcessDirectory) throws(UnreadableFile) {
        let path = try process.place() + "exe"
        descriptor = unsafe openat(process.directory, path, CLINUX_O_PATH | O_CLOEXEC)
        guard descriptor >= 0 else {
            let failure = UnreadableFile.system(path)
            if failure.isMissing { return nil }
            throw failure
        }
        do throws(UnreadableFile) {
            status = try Status(descriptor, path)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    /// Its path in the mount namespace of `machine`; nil if it has no name there.
    ///
    /// The kernel's path is trusted if it leads to this very file there: not in another namespace, whose paths its user
    /// chooses, not below a mount that was removed while the program ran, not to a file mounted over it.
    /// - Throws: ``UnreadableFile`` if that cannot be determined.
    package func path(on machine: ProcessDirectory) throws(UnreadableFile) -> String? {
        guard status.links > 0,
            let path = try ProgramPath.ofLink("/proc/self/fd/\(descriptor)", in: AT_FDCWD),
            // The kernel marks a removed name so, even if the file has another one.
            !path.hasSuffix(" (deleted)")
        else { return nil }
        return try isNamed(path, on: machine) ? path : nil
    }

    private func isNamed(_ path: String, on machine: ProcessDirectory) throws(UnreadableFile) -> Bool {
        let root = unsafe openat(machine.directory, "root", CLINUX_O_PATH | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw .system("root") }
        defer { close(root) }
        let found = unsafe clinux_open_below(root, path)
        if found >= 0 {
            defer { close(found) }
            return try Status(found, path).isSame(as: status)
        }
        switch errno {
        case ENOENT, ENOTDIR, ELOOP: return false
        // Directories that only their owner may enter, a name that is not in the kernel's cache, an older kernel: the
        // path is right if its mount is one of the namespace's.
        case EACCES, EPERM, EAGAIN, ENOSYS, EINVAL: return try isMounted(on: machine)
        case let number: throw .system(path, number)
        }
    }

    private func isMounted(on machine: ProcessDirectory) throws(UnreadableFile) -> Bool {
        let start = Array("\(status.mount) ".utf8)
        return unsafe try SmallFile.firstLine(of: "mountinfo", in: machine.directory) { line in
            unsafe line.starts(with: start) ? true : nil
        } ?? false
    }
}
