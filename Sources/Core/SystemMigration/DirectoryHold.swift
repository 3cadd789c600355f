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

    /// The process that holds the lock on a file; nil if no process of `owner` does, or for nil no process whose
    /// descriptors the caller may look at.
    ///
    /// Looks at the descriptors of each process and not at `/proc/locks`: other users can lengthen that list and change it
    /// while it is read, and the kernel then skips lines.
    /// - Throws: ``MoveError`` `system` if that cannot be determined.
    static func holder(device: dev_t, inode: ino_t, owner: UInt32?) throws(MoveError) -> pid_t? {
        try MoveError.reading { () throws(UnreadableFile) in
            var heir: pid_t?
            for process in try processes() {
                if let owner, try !isProcess(process, of: owner) { continue }
                guard let first = try taker(process, device, inode) else { continue }
                if first == process { return process }
                // The process that took the lock passed the descriptor on, and may have ended.
                heir = heir ?? process
            }
            return heir
        }
    }

    /// The process that holds the lock on a file, according to `/proc/locks` (proc(5)); nil if the list does not show it.
    ///
    /// For users who may not look at the descriptors of a daemon that forbids it. Not on file systems that report another
    /// device in stat(2) (btrfs).
    /// - Throws: ``MoveError`` `system` if the list cannot be read.
    static func listedHolder(device: dev_t, inode: ino_t) throws(MoveError) -> pid_t? {
        try MoveError.reading { () throws(UnreadableFile) in
            unsafe try SmallFile.firstLine(of: "/proc/locks") { line in
                guard let lock = unsafe FileLock(String(decoding: line, as: UTF8.self)), lock.inode == inode,
                    lock.device == numbers(of: device)
                else { return nil }
                return lock.process
            }
        }
    }

    /// The directories locked by daemons of `owner`, with the process of each.
    ///
    /// - Throws: ``MoveError`` `system` if a process of the owner cannot be inspected.
    static func directories(of owner: UInt32) throws(MoveError) -> [(process: pid_t, directory: String)] {
        try MoveError.reading { () throws(UnreadableFile) in
            var found: [(process: pid_t, directory: String)] = []
            for process in try processes() {
                let isOne = try unlessEnded(false) { () throws(UnreadableFile) in
                    try isDaemon(process, of: owner)
                }
                guard isOne else { continue }
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
        guard try lock(number, of: process) != nil else { return nil }
        guard let path = unsafe realpath(entry, nil) else { throw .system(entry) }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The major and minor device numbers, decoded as makedev(3) encodes them.
    private static func numbers(of device: dev_t) -> (dev_t, dev_t) {
        ((device >> 8) & 0xFFF | (device >> 32) & ~0xFFF, device & 0xFF | (device >> 12) & ~0xFF)
    }

    /// The process that took the lock on a file, if `process` holds that lock with one of its descriptors.
    private static func taker(
        _ process: pid_t,
        _ device: dev_t,
        _ inode: ino_t
    ) throws(UnreadableFile) -> pid_t? {
        do throws(UnreadableFile) {
            for number in try descriptors(of: process) {
                let held = try unlessEnded(nil) { () throws(UnreadableFile) -> FileLock? in
                    // Before stat(2), which a file system of another user's may keep waiting.
                    guard let lock = try lock(number, of: process), lock.inode == inode else { return nil }
                    return try status("/proc/\(process)/fd/\(number)").st_dev == device ? lock : nil
                }
                if let held { return held.process }
            }
            return nil
        } catch {
            // A process that a caller other than root may not look at.
            if error.number == EACCES || error.number == EPERM { return nil }
            throw error
        }
    }

    /// The lock that is held with a descriptor; nil if there is none.
    private static func lock(_ number: String, of process: pid_t) throws(UnreadableFile) -> FileLock? {
        unsafe try SmallFile.firstLine(of: "/proc/\(process)/fdinfo/\(number)") { line in
            let words = unsafe String(decoding: line, as: UTF8.self)
            return words.hasPrefix("lock:") ? FileLock(String(words.dropFirst(5))) : nil
        }
    }

    private static func processes() throws(UnreadableFile) -> [pid_t] {
        try names(in: "/proc").compactMap { pid_t($0) }
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

    /// Sends SIGTERM to the process, if it is still the holder, and waits for its end.
    ///
    /// - Returns: whether the signal was sent.
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
    /// The process that took it; 0 if it was a process of another namespace that has ended.
    let process: pid_t
    let device: (dev_t, dev_t)
    let inode: ino_t

    /// "1: FLOCK  ADVISORY  WRITE 4711 fd:01:262145 0 EOF"; nil for another kind, and for the line of a waiting process,
    /// which has an arrow.
    init?(_ line: String) {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE", let process = pid_t(words[4]),
            process >= 0
        else { return nil }
        let place = words[5].split(separator: ":")
        guard place.count == 3, let major = dev_t(place[0], radix: 16),
            let minor = dev_t(place[1], radix: 16),
            let inode = ino_t(place[2])
        else { return nil }
        (self.process, device, self.inode) = (process, (major, minor), inode)
    }
}
