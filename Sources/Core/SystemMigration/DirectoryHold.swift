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
            if let holder = try holder(of: directory, owner), asked.insert(holder).inserted {
                try end(holder, of: directory, owner)
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

    /// The process that holds the lock; nil if nothing holds it, it is unknown, or it is not a process of `owner`.
    static func holder(of directory: OpenDirectory, _ owner: Account?) throws(MoveError) -> pid_t? {
        let status = try directory.status()
        return holder(device: status.st_dev, inode: status.st_ino, owner: owner?.uid)
    }

    /// The process that holds the lock on a file, according to `/proc/locks` (proc(5)).
    static func holder(device: dev_t, inode: ino_t, owner: UInt32?) -> pid_t? {
        guard let locks = ProcText.read("/proc/locks", upTo: 1 << 20) else { return nil }
        for line in locks.split(separator: "\n") {
            // "1: FLOCK  ADVISORY  WRITE 4711 fd:01:262145 0 EOF"; the line of a waiting process has an arrow.
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE", let process = pid_t(words[4]),
                process > 0
            else { continue }
            let place = words[5].split(separator: ":")
            guard place.count == 3, ino_t(place[2]) == inode else { continue }
            let named = (dev_t(place[0], radix: 16) ?? 0, dev_t(place[1], radix: 16) ?? 0)
            // Some file systems (btrfs) report a different device in stat(2): compare the process's descriptors instead.
            guard named == numbers(of: device) || hasOpen(process, device, inode) else { continue }
            guard let owner else { return process }
            if isProcess(process, of: owner) { return process }
        }
        return nil
    }

    /// The directories locked by daemons of `owner`, with the process of each; processes that cannot be inspected are
    /// omitted.
    static func directories(of owner: UInt32) -> [(process: pid_t, directory: String)] {
        guard let locks = ProcText.read("/proc/locks", upTo: 1 << 20) else { return [] }
        var found: [(process: pid_t, directory: String)] = []
        for line in locks.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE", let process = pid_t(words[4]),
                process > 0, let inode = words[5].split(separator: ":").last.flatMap({ ino_t($0) }),
                isProcess(process, of: owner), sharesMounts(process),
                ProcText.read("/proc/\(process)/comm", upTo: 64)?.hasPrefix("touchstoned") ?? false
            else { continue }
            for path in openDirectories(of: process, inode) { found.append((process, path)) }
        }
        return found
    }

    /// Whether a process is in this process's mount namespace: a container may use the same user numbers.
    private static func sharesMounts(_ process: pid_t) -> Bool {
        var (own, other) = (stat(), stat())
        guard unsafe stat("/proc/self/ns/mnt", &own) == 0,
            unsafe stat("/proc/\(process)/ns/mnt", &other) == 0
        else { return false }
        return own.st_ino == other.st_ino && own.st_dev == other.st_dev
    }

    private static func openDirectories(of process: pid_t, _ inode: ino_t) -> [String] {
        descriptors(of: process).compactMap { entry in
            var status = stat()
            guard unsafe stat(entry, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
                status.st_ino == inode,
                let path = unsafe realpath(entry, nil)
            else { return nil }
            defer { unsafe free(path) }
            return unsafe String(cString: path)
        }
    }

    /// The major and minor device numbers, decoded as makedev(3) encodes them.
    private static func numbers(of device: dev_t) -> (dev_t, dev_t) {
        ((device >> 8) & 0xFFF | (device >> 32) & ~0xFFF, device & 0xFF | (device >> 12) & ~0xFF)
    }

    private static func hasOpen(_ process: pid_t, _ device: dev_t, _ inode: ino_t) -> Bool {
        descriptors(of: process).contains { entry in
            var status = stat()
            return unsafe stat(entry, &status) == 0 && status.st_dev == device && status.st_ino == inode
        }
    }

    /// The links in `/proc/PID/fd` (proc(5)), one for each open descriptor of a process.
    private static func descriptors(of process: pid_t) -> [String] {
        let directory = "/proc/\(process)/fd"
        guard let stream = unsafe opendir(directory) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
                unsafe String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if CInt(name) != nil { names.append("\(directory)/\(name)") }
        }
        return names
    }

    /// Whether all four user ids of a process are `owner`: a program with more privileges gets no signal.
    private static func isProcess(_ process: pid_t, of owner: UInt32) -> Bool {
        guard let text = ProcText.read("/proc/\(process)/status", upTo: 1 << 14),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Uid:") })
        else { return false }
        let numbers = line.dropFirst(4).split(whereSeparator: { $0 == "\t" || $0 == " " })
        return numbers.count == 4 && numbers.allSatisfy { UInt32($0) == owner }
    }

    private static func end(_ process: pid_t, of directory: OpenDirectory, _ owner: Account) throws(MoveError)
    {
        let handle = clinux_pidfd_open(process)
        guard handle >= 0 else { return }
        defer { close(handle) }
        // The process id may have been reused before the pidfd was opened.
        guard try holder(of: directory, owner) == process else { return }
        guard clinux_pidfd_signal(handle, SIGTERM) == 0 else { return }
        var entry = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        // The pidfd becomes readable when the process has exited (pidfd_open(2)).
        _ = SystemCall.uninterrupted { unsafe poll(&entry, 1, patience * 1000) }
    }
}

/// Reads small text files of procfs.
enum ProcText {
    /// The whole content of a file; nil if it cannot be read or is not UTF-8.
    static func read(_ path: String, upTo limit: Int) -> String? {
        SmallFile.bytes(path, upTo: limit).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
