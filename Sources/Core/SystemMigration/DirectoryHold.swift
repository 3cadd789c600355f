import CLinux
import Glibc
import KeychainModel

/// The lock on a keychain's directory: while it is held, no daemon opens the files in it.
enum DirectoryHold {
    /// Seconds that a daemon may take to end its prompts and close its files.
    static let patience: CInt = 30

    /// Takes the lock; a process of `owner` that holds it gets SIGTERM, once it is certain that it is the holder.
    ///
    /// - Throws: ``MoveError`` `busy` if the holder does not exit or belongs to another user.
    static func take(_ directory: OpenDirectory, from owner: Account) throws(MoveError) {
        var asked: Set<pid_t> = []
        // A starting daemon retries the lock for half a second, and another daemon may start after the first.
        for _ in 0..<(4 * patience) {
            if flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            guard errno == EWOULDBLOCK || errno == EINTR else { throw .system(directory.path) }
            if let holder = try holder(of: directory, owner), !asked.contains(holder),
                try end(holder, of: directory, owner)
            {
                asked.insert(holder)
            } else {
                _ = poll(nil, 0, 250)
            }
        }
        let process = try holder(of: directory, nil).map { ", process \($0)" } ?? ""
        throw MoveError(
            .busy,
            "another process\(process) uses \(directory.path) and does not end",
            hint: "end it, then run it again"
        )
    }

    /// The process that holds the lock; nil if nothing holds it, or it is not a process of `owner`.
    static func holder(of directory: OpenDirectory, _ owner: Account?) throws(MoveError) -> pid_t? {
        let status = try directory.status()
        return try holder(device: status.st_dev, inode: status.st_ino, owner: owner?.uid)
    }

    /// The process that holds the lock on a file, according to `/proc/locks` (proc(5)).
    ///
    /// - Throws: ``MoveError`` `system` if that cannot be determined.
    static func holder(device: dev_t, inode: ino_t, owner: UInt32?) throws(MoveError) -> pid_t? {
        try MoveError.reading { () throws(UnreadableFile) in
            unsafe try SmallFile.firstLine(of: "/proc/locks") { (line) throws(UnreadableFile) in
                guard let lock = unsafe FileLock(String(decoding: line, as: UTF8.self)), lock.inode == inode
                else {
                    return nil
                }
                // Some file systems (btrfs) report a different device in stat(2): compare the process's descriptors
                // instead.
                var isIt = lock.device == numbers(of: device)
                if !isIt { isIt = try hasOpen(lock.process, device, inode) }
                guard isIt, let owner else { return isIt ? lock.process : nil }
                return try isProcess(lock.process, of: owner) ? lock.process : nil
            }
        }
    }

    /// The directories locked by daemons of `owner`, with the process of each.
    ///
    /// Looks at each daemon's descriptors and not at `/proc/locks`: other users can lengthen that list and change it while
    /// it is read, and the kernel then skips lines.
    /// - Throws: ``MoveError`` `system` if a process of the owner cannot be inspected.
    static func directories(of owner: UInt32) throws(MoveError) -> [(process: pid_t, directory: String)] {
        try MoveError.reading { () throws(UnreadableFile) in
            var found: [(process: pid_t, directory: String)] = []
            for name in try names(in: "/proc") {
                guard let process = pid_t(name),
                    try unlessEnded(
                        false,
                        { () throws(UnreadableFile) in
                            try isDaemon(process, of: owner)
                        }
                    )
                else { continue }
                for number in try descriptors(of: process) {
                    let path = try unlessEnded(nil) { () throws(UnreadableFile) in
                        try lockedDirectory(number, of: process)
                    }
                    if let path { found.append((process, path)) }
                }
            }
            return found
        }
    }

    private static func isDaemon(_ process: pid_t, of owner: UInt32) throws(UnreadableFile) -> Bool {
        guard try SmallFile.bytes("/proc/\(process)/comm", atMost: 4096).starts(with: "touchstoned".utf8),
            try isProcess(process, of: owner)
        else { return false }
        return try sharesMounts(process)
    }

    /// Whether a process is in this process's mount namespace: a container may use the same user numbers.
    private static func sharesMounts(_ process: pid_t) throws(UnreadableFile) -> Bool {
        let (own, other) = (try status("/proc/self/ns/mnt"), try status("/proc/\(process)/ns/mnt"))
        return own.st_ino == other.st_ino && own.st_dev == other.st_dev
    }

    /// The path of a descriptor if it is a directory that the process holds locked; nil otherwise.
    private static func lockedDirectory(_ number: String, of process: pid_t) throws(UnreadableFile) -> String?
    {
        let entry = "/proc/\(process)/fd/\(number)"
        guard try status(entry).st_mode & S_IFMT == S_IFDIR else { return nil }
        let isLocked = unsafe try SmallFile.firstLine(of: "/proc/\(process)/fdinfo/\(number)") { line in
            let words = unsafe String(decoding: line, as: UTF8.self)
            return words.hasPrefix("lock:") && FileLock(String(words.dropFirst(5))) != nil ? true : nil
        }
        guard isLocked == true else { return nil }
        guard let path = unsafe realpath(entry, nil) else { throw .system(entry) }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The major and minor device numbers, decoded as makedev(3) encodes them.
    private static func numbers(of device: dev_t) -> (dev_t, dev_t) {
        ((device >> 8) & 0xFFF | (device >> 32) & ~0xFFF, device & 0xFF | (device >> 12) & ~0xFF)
    }

    private static func hasOpen(
        _ process: pid_t,
        _ device: dev_t,
        _ inode: ino_t
    ) throws(UnreadableFile) -> Bool {
        do throws(UnreadableFile) {
            for number in try descriptors(of: process) {
                let isIt = try unlessEnded(false) { () throws(UnreadableFile) in
                    let status = try status("/proc/\(process)/fd/\(number)")
                    return status.st_dev == device && status.st_ino == inode
                }
                if isIt { return true }
            }
            return false
        } catch {
            // Another user's process with a lock on a file of the same number, for a caller that is not root.
            if error.number == EACCES || error.number == EPERM { return false }
            throw error
        }
    }

    /// The names in `/proc/PID/fd` (proc(5)), one for each open descriptor of a process; none if it has ended.
    private static func descriptors(of process: pid_t) throws(UnreadableFile) -> [String] {
        try unlessEnded([]) { () throws(UnreadableFile) in
            try names(in: "/proc/\(process)/fd").filter { CInt($0) != nil }
        }
    }

    private static func names(in directory: String) throws(UnreadableFile) -> [String] {
        guard let stream = unsafe opendir(directory) else { throw .system(directory) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else { throw .system(directory) }
                return names
            }
            names.append(
                unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
                    unsafe String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                }
            )
        }
    }

    /// Whether all four user ids of a process are `owner`: a program with more privileges gets no signal.
    private static func isProcess(_ process: pid_t, of owner: UInt32) throws(UnreadableFile) -> Bool {
        let path = "/proc/\(process)/status"
        let line = try unlessEnded("0 0 0 0") { () throws(UnreadableFile) in
            try SmallFile.value("Uid", of: path) ?? ""
        }
        let numbers = line.split(whereSeparator: { $0 == "\t" || $0 == " " })
        guard numbers.count == 4 else { throw UnreadableFile(path, .malformed) }
        return numbers.allSatisfy { UInt32($0) == owner }
    }

    private static func status(_ path: String) throws(UnreadableFile) -> stat {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .system(path) }
        return status
    }

    /// The result of `body`; `result` if the process or descriptor whose files it reads has gone.
    private static func unlessEnded<R>(
        _ result: R,
        _ body: () throws(UnreadableFile) -> R
    ) throws(UnreadableFile) -> R {
        do throws(UnreadableFile) {
            return try body()
        } catch {
            if error.isMissing { return result }
            throw error
        }
    }

    /// Sends SIGTERM to the process, if it is the holder, and waits for its end.
    ///
    /// - Returns: whether the signal was sent. It is not if this look at `/proc/locks` does not show the holder: where other
    ///   programs' locks come and go meanwhile, the kernel skips lines.
    private static func end(
        _ process: pid_t,
        of directory: OpenDirectory,
        _ owner: Account
    ) throws(MoveError) -> Bool {
        let handle = clinux_pidfd_open(process)
        guard handle >= 0 else { return false }
        defer { close(handle) }
        // The process id may have been reused before the pidfd was opened.
        guard try holder(of: directory, owner) == process else { return false }
        guard clinux_pidfd_signal(handle, SIGTERM) == 0 else { return false }
        var entry = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        // The pidfd becomes readable when the process has exited (pidfd_open(2)).
        _ = SystemCall.uninterrupted { unsafe poll(&entry, 1, patience * 1000) }
        return true
    }
}

/// An exclusive flock(2) in `/proc/locks` or `/proc/PID/fdinfo` (proc(5)).
private struct FileLock {
    let process: pid_t
    let device: (dev_t, dev_t)
    let inode: ino_t

    /// "1: FLOCK  ADVISORY  WRITE 4711 fd:01:262145 0 EOF"; nil for another kind, and for the line of a waiting process,
    /// which has an arrow.
    init?(_ line: String) {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE", let process = pid_t(words[4]),
            process > 0
        else { return nil }
        let place = words[5].split(separator: ":")
        guard place.count == 3, let major = dev_t(place[0], radix: 16),
            let minor = dev_t(place[1], radix: 16),
            let inode = ino_t(place[2])
        else { return nil }
        (self.process, device, self.inode) = (process, (major, minor), inode)
    }
}
