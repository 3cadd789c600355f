import CLinux
import Glibc
import KeychainModel

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
    }

    /// Nil for a process that has ended, or that may not be inspected.
    package init?(of process: ProcessDirectory) {
        let place = process.place
        let descriptor = unsafe openat(process.directory, place + "exe", CLINUX_O_PATH | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var file = clinux_file()
        guard unsafe clinux_look_at(descriptor, &file) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        status = Status(
            device: file.device,
            inode: file.inode,
            owner: file.owner,
            mode: file.mode,
            links: file.links
        )
    }

    deinit { close(descriptor) }

    /// Its path in the mount namespace of `machine`; nil if it has no name there.
    ///
    /// The kernel's path is trusted if its mount belongs to that namespace now: not to another namespace, whose paths
    /// its user chooses, and not removed while the program ran.
    package func path(on machine: ProcessDirectory) -> String? {
        guard status.links > 0,
            let mount = ProcFile.line("mnt_id", of: "/proc/self/fdinfo/\(descriptor)"),
            let mounts = ProcFile.text(of: "mountinfo", in: machine.directory, atMost: 1 << 22),
            mounts.split(separator: "\n").contains(where: { $0.hasPrefix(mount + " ") })
        else { return nil }
        let path = ProgramPath.ofLink("/proc/self/fd/\(descriptor)", in: AT_FDCWD)
        // The kernel marks a removed name so, even if the file has another one.
        return path?.hasSuffix(" (deleted)") == true ? nil : path
    }
}
