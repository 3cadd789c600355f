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
    /// Failures that show that there is no such file, or that the kernel does not reveal it to this process.
    private static let hidden: Set<CInt> = [ENOENT, ESRCH, EACCES, EPERM, ENOTDIR, ELOOP]

    let directory: CInt

    /// Opens the directory of a pid; nil if there is no such process.
    ///
    /// - Throws: ``UnreadableFile`` if that cannot be determined.
    package init?(_ pid: Int32) throws(UnreadableFile) {
        let path = "/proc/\(pid)"
        directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else {
            let failure = UnreadableFile.system(path)
            if failure.isMissing { return nil }
            throw failure
        }
    }

    deinit { close(directory) }

    /// The file of the program that it runs now; nil if the kernel does not reveal it.
    public var programFile: FileIdentity? {
        if let file = FileIdentity("exe", in: directory) { return file }
        // The first thread may have ended before the others (pthread_exit(3) in main).
        return (try? thread()).flatMap { FileIdentity("task/\($0)/exe", in: directory) }
    }

    /// The path of the program that it runs now, in this process's own namespaces; nil if it has none there, or if the
    /// kernel does not reveal it to this process.
    ///
    /// A path in another mount or user namespace is chosen by that namespace's owner. Here the path has to lead to
    /// the very file that runs: not to one mounted over it elsewhere, one on a removed mount, or a deleted one, whose
    /// former location cannot be verified.
    /// - Throws: ``UnreadableFile`` if it could not be determined, for example without a free descriptor.
    package func program() throws(UnreadableFile) -> (path: String, file: FileIdentity)? {
        do throws(UnreadableFile) {
            let place = try place()
            guard let path = try ProgramPath.ofLink(place + "exe", in: directory) else { return nil }
            let file = try identity(place + "exe")
            guard try identity(place + "ns/mnt") == Self.ownMounts,
                try identity(place + "ns/user") == Self.ownUsers,
                try identity(path, follows: false) == file
            else { return nil }
            return (path, file)
        } catch {
            if let number = error.number, Self.hidden.contains(number) { return nil }
            throw error
        }
    }

    /// The prefix of the `/proc` files of a running thread; empty for the first one.
    func place() throws(UnreadableFile) -> String {
        do throws(UnreadableFile) {
            _ = try identity("exe")
            return ""
        } catch {
            guard error.isMissing else { throw error }
            // The first thread may have ended before the others (pthread_exit(3) in main).
            return try thread().map { "task/\($0)/" } ?? ""
        }
    }

    private func identity(_ path: String, follows: Bool = true) throws(UnreadableFile) -> FileIdentity {
        guard let identity = FileIdentity(path, in: directory, follows: follows) else { throw .system(path) }
        return identity
    }

    /// Whether it shares the mount and user namespaces of another process.
    ///
    /// - Throws: ``UnreadableFile`` if that cannot be determined.
    package func sharesNamespaces(with other: ProcessDirectory) throws(UnreadableFile) -> Bool {
        let (place, otherPlace) = (try place(), try other.place())
        for name in ["ns/mnt", "ns/user"] {
            guard try identity(place + name) == other.identity(otherPlace + name) else { return false }
        }
        return true
    }

    /// The content of `/proc/PID/stat`; nil if the process has ended.
    ///
    /// - Throws: ``UnreadableFile`` if it cannot be read.
    package func standing() throws(UnreadableFile) -> ProcessStat? {
        do throws(UnreadableFile) {
            guard let stat = ProcessStat(try SmallFile.bytes("stat", in: directory, atMost: 4096)) else {
                throw UnreadableFile("stat", .malformed)
            }
            return stat
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    /// The process that traces its first thread; 0 for none.
    package func tracer() throws(UnreadableFile) -> UInt64 {
        try number(try status("TracerPid"))
    }

    /// Its effective user.
    package func user() throws(UnreadableFile) -> UInt32 {
        // The real, effective, saved and file-system uid.
        let numbers = try status("Uid").split(separator: "\t")
        return try number(numbers.count == 4 ? String(numbers[1]) : "")
    }

    private func status(_ name: String) throws(UnreadableFile) -> String {
        guard let text = try SmallFile.value(name, of: try place() + "status", in: directory) else {
            throw UnreadableFile("status", .malformed)
        }
        return text
    }

    private func number<N: FixedWidthInteger>(_ text: String) throws(UnreadableFile) -> N {
        guard let number = N(text) else { throw UnreadableFile("status", .malformed) }
        return number
    }

    /// The user whose daemon it is, by its control group; nil if it is not a daemon of system mode.
    ///
    /// - Throws: ``UnreadableFile`` if the group cannot be read.
    package func daemonOwner() throws(UnreadableFile) -> UInt32? {
        DaemonUnit.owner(in: try SmallFile.text("cgroup", in: directory, atMost: 1 << 16))
    }

    /// A running thread of the process; nil if none runs any more.
    private func thread() throws(UnreadableFile) -> String? {
        let descriptor = unsafe openat(directory, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let failure = UnreadableFile.system("task")
            if failure.isMissing { return nil }
            throw failure
        }
        guard let threads = unsafe fdopendir(descriptor) else {
            let failure = UnreadableFile.system("task")
            close(descriptor)
            throw failure
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
    package static func ofThisProcess() -> String? { try? ofLink("/proc/self/exe", in: AT_FDCWD) }

    /// The target of a link to a program; nil if it is no absolute path in UTF-8.
    ///
    /// - Throws: ``UnreadableFile`` if the link cannot be read or its target is longer than `PATH_MAX`.
    static func ofLink(_ link: String, in directory: CInt) throws(UnreadableFile) -> String? {
        var octets = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe octets.withUnsafeMutableBytes { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let start = buffer.baseAddress else { return -1 }
                return unsafe readlinkat(directory, link, start, buffer.count)
            }
        }
        guard count >= 0 else { throw .system(link) }
        // A truncated path would name another program.
        guard count < octets.count else { throw UnreadableFile(link, .tooLong(octets.count - 1)) }
        let path = String(validating: octets[..<count], as: UTF8.self)
        return path?.hasPrefix("/") == true ? path : nil
    }

    /// The directory part of an absolute path.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[..<slash])
    }
}
