public import Glibc
package import KeychainModel

/// The `/proc` directory of a process, held open so that a reused pid cannot be confused with it.
///
/// The directory stays that process's: once it has ended, its files no longer exist.
public final class ProcessDirectory: Sendable {
    /// The identity of a file, independent of its name.
    public struct FileIdentity: Equatable, Sendable {
        /// The device that it is on.
        public let device: dev_t
        /// Its inode number.
        public let inode: ino_t

        /// The file at a path.
        ///
        /// Relative paths start at `directory`; links in `/proc` are followed.
        public init?(_ path: String, in directory: CInt = AT_FDCWD, follows: Bool = true) {
            var status = stat()
            guard unsafe fstatat(directory, path, &status, follows ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else {
                return nil
            }
            device = status.st_dev
            inode = status.st_ino
        }
    }

    private static let ownMounts = FileIdentity("/proc/self/ns/mnt")
    private static let ownUsers = FileIdentity("/proc/self/ns/user")

    let directory: CInt

    /// Opens the directory of a pid; nil if there is no such process.
    public init?(_ pid: Int32) {
        directory = unsafe open("/proc/\(pid)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return nil }
    }

    deinit { close(directory) }

    /// The file of the program that it runs now; nil if the kernel does not reveal it.
    public var programFile: FileIdentity? {
        if let file = FileIdentity("exe", in: directory) { return file }
        // The first thread may have ended before the others (pthread_exit(3) in main).
        return thread().flatMap { FileIdentity("task/\($0)/exe", in: directory) }
    }

    /// The path of the program that it runs now, in this process's own namespaces; nil if it cannot be determined
    /// reliably.
    ///
    /// A path in another mount or user namespace is chosen by that namespace's owner. Here the path has to lead to
    /// the very file that runs: not to one mounted over it elsewhere, one on a removed mount, or a deleted one, whose
    /// former location cannot be verified.
    public func program() -> (path: String, file: FileIdentity)? {
        let place = place
        guard let file = FileIdentity(place + "exe", in: directory),
            let path = ProgramPath.ofLink(place + "exe", in: directory),
            let mounts = FileIdentity(place + "ns/mnt", in: directory), mounts == Self.ownMounts,
            let users = FileIdentity(place + "ns/user", in: directory), users == Self.ownUsers,
            FileIdentity(path, follows: false) == file
        else { return nil }
        return (path, file)
    }

    /// The prefix of the `/proc` files of a running thread; empty for the first one.
    var place: String {
        FileIdentity("exe", in: directory) != nil ? "" : thread().map { "task/\($0)/" } ?? ""
    }

    /// Whether it shares the mount and user namespaces of another process; nil if that cannot be determined.
    package func sharesNamespaces(with other: ProcessDirectory) -> Bool? {
        let (place, otherPlace) = (place, other.place)
        for name in ["ns/mnt", "ns/user"] {
            guard let own = FileIdentity(place + name, in: directory),
                let others = FileIdentity(otherPlace + name, in: other.directory)
            else { return nil }
            guard own == others else { return false }
        }
        return true
    }

    /// The content of `/proc/PID/stat`.
    package var standing: ProcessStat? { ProcessStat(inDirectory: directory) }

    /// The process that traces its first thread; 0 for none, nil if unknown.
    package var tracer: UInt64? {
        ProcFile.line("TracerPid", of: place + "status", in: directory).flatMap { UInt64($0) }
    }

    /// Its effective user; nil if unknown.
    package var user: UInt32? {
        // The real, effective, saved and file-system uid.
        guard let line = ProcFile.line("Uid", of: place + "status", in: directory) else { return nil }
        let numbers = line.split(separator: "\t")
        return numbers.count == 4 ? UInt32(numbers[1]) : nil
    }

    /// The user whose daemon it is, by its control group; nil if it is not a daemon of system mode.
    package var daemonOwner: UInt32? {
        ProcFile.text(of: "cgroup", in: directory, atMost: 1 << 16).flatMap(DaemonUnit.owner)
    }

    /// When it started, in clock ticks since boot.
    public func startTime() -> UInt64? { ProcessStat(inDirectory: directory)?.start }

    /// A running thread of the process.
    private func thread() -> String? {
        let descriptor = unsafe openat(directory, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard let threads = unsafe fdopendir(descriptor) else {
            close(descriptor)
            return nil
        }
        defer { unsafe closedir(threads) }
        while let entry = unsafe readdir(threads) {
            let octets = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
                unsafe Array(name.prefix { $0 != 0 })
            }
            let name = String(decoding: octets, as: UTF8.self)
            if name.first != ".", FileIdentity("task/\(name)/exe", in: directory) != nil { return name }
        }
        return nil
    }
}

/// Paths of running programs.
package enum ProgramPath {
    /// The target of `/proc/self/exe`.
    package static func ofThisProcess() -> String? { ofLink("/proc/self/exe", in: AT_FDCWD) }

    /// The target of a link to a program.
    static func ofLink(_ link: String, in directory: CInt) -> String? {
        var octets = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe octets.withUnsafeMutableBytes { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let start = buffer.baseAddress else { return -1 }
                return unsafe readlinkat(directory, link, start, buffer.count)
            }
        }
        // A truncated path would name another program.
        guard count > 0, count < octets.count else { return nil }
        let path = String(validating: octets[..<count], as: UTF8.self)
        return path?.hasPrefix("/") == true ? path : nil
    }

    /// The directory part of an absolute path.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[..<slash])
    }
}
