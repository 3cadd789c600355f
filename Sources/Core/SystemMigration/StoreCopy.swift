import Glibc
import KeychainModel

/// Copies a keychain's files from one directory to another with sendfile(2): no content passes through this process.
struct StoreCopy {
    /// The largest keychain that is moved, in bytes.
    static let mostBytes: Int64 = 16 << 30
    /// The largest small file, in bytes; every file except items and logs is small.
    private static let longestSmallFile: Int64 = 1 << 20
    /// The bytes that must stay free beside the copy.
    private static let spareRoom: UInt64 = 1 << 20
    /// The bytes copied between two progress reports.
    private static let step: Int64 = 4 << 20

    let source: OpenDirectory
    /// The owner of the source files, with whose credentials they are read.
    let reader: Account
    let target: OpenDirectory
    /// The account with whose credentials the copies are written; nil for the process's own.
    let writer: Account?
    /// The owner of the copies; nil to leave them to the account that writes them.
    let owner: Account?
    /// Reports progress in bytes.
    let progress: (_ done: Int64, _ total: Int64) -> Void

    private struct Source {
        let name: String
        let descriptor: CInt
        let status: stat
    }

    /// Copies all files; the file contents are durable afterwards, the directory entries are not.
    ///
    /// - Throws: ``MoveError``; the caller removes the copies made so far.
    func run() throws(MoveError) {
        let names = try reader.acting { () throws(MoveError) in try source.storeNames() }
        var total: Int64 = 0
        // Check all files before anything is written.
        for name in names {
            let file = try open(name)
            close(file.descriptor)
            total += Int64(file.status.st_size)
            guard total <= Self.mostBytes else {
                throw MoveError(.changed, "\(source.path) has more than \(Self.mostBytes >> 30) GiB")
            }
        }
        guard try target.room() >= UInt64(total) + Self.spareRoom else {
            throw MoveError(
                .full,
                "there is no room for \((total >> 20) + 2) MiB in \(target.path)",
                hint: "make room, then run it again"
            )
        }
        var done: Int64 = 0
        for name in names {
            let file = try open(name)
            defer { close(file.descriptor) }
            try copy(file, total, &done)
        }
    }

    /// Opens a regular file that only its owner can access, by the same rules as the daemon.
    private func open(_ name: String) throws(MoveError) -> Source {
        let path = source.path + "/" + name
        return try reader.acting { () throws(MoveError) in
            // Non-blocking, so that opening a FIFO put there by another program is refused instead of waiting.
            let descriptor = unsafe openat(
                source.descriptor,
                name,
                O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
            )
            guard descriptor >= 0 else {
                guard errno == ELOOP || errno == ENXIO || errno == ENODEV else { throw .system(path) }
                throw Self.refused(path, "is not a plain file")
            }
            do throws(MoveError) {
                var status = stat()
                guard unsafe fstat(descriptor, &status) == 0 else { throw .system(path) }
                guard status.st_mode & S_IFMT == S_IFREG else {
                    throw Self.refused(path, "is not a plain file")
                }
                guard status.st_uid == reader.uid else {
                    throw Self.refused(path, "belongs to user \(status.st_uid)")
                }
                guard status.st_nlink == 1 else { throw Self.refused(path, "has \(status.st_nlink) names") }
                guard status.st_mode & 0o7777 == 0o600 else {
                    throw Self.refused(path, "has mode \(String(status.st_mode & 0o7777, radix: 8)), not 600")
                }
                let isLarge = name.hasPrefix(StoreFile.items.rawValue) || name.hasPrefix(StoreFile.log)
                guard isLarge || status.st_size <= Self.longestSmallFile else {
                    throw Self.refused(path, "has \(status.st_size) bytes, which no file of its kind has")
                }
                return Source(name: name, descriptor: descriptor, status: status)
            } catch {
                close(descriptor)
                throw error
            }
        }
    }

    private static func refused(_ path: String, _ reason: String) -> MoveError {
        MoveError(.unsafePlace, "\(path) \(reason)", hint: "put it right or move it away, then run it again")
    }

    private func copy(_ file: Source, _ total: Int64, _ done: inout Int64) throws(MoveError) {
        let path = target.path + "/" + file.name
        let output = try make(file.name, path)
        defer { close(output) }
        var left = Int64(file.status.st_size)
        while left > 0 {
            let count = SystemCall.uninterrupted {
                sendfile(output, file.descriptor, nil, Int(min(left, Self.step)))
            }
            guard count >= 0 else { throw .system(path) }
            guard count > 0 else { throw Self.changed(source.path + "/" + file.name) }
            left -= Int64(count)
            done += Int64(count)
            progress(done, total)
        }
        var status = stat()
        guard unsafe fstat(file.descriptor, &status) == 0 else { throw .system(source.path) }
        guard status.st_size == file.status.st_size, status.st_mtim.tv_sec == file.status.st_mtim.tv_sec,
            status.st_mtim.tv_nsec == file.status.st_mtim.tv_nsec
        else { throw Self.changed(source.path + "/" + file.name) }
        if let owner {
            guard fchown(output, owner.uid, owner.gid) == 0 else { throw .system(path) }
        }
        guard fsync(output) == 0 else { throw .system(path) }
    }

    private func make(_ name: String, _ path: String) throws(MoveError) -> CInt {
        let body = { () throws(MoveError) -> CInt in
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            let output = unsafe openat(target.descriptor, name, flags, 0o600)
            guard output >= 0 else { throw .system(path) }
            // The process's umask may have removed required mode bits.
            guard fchmod(output, 0o600) == 0 else {
                close(output)
                throw .system(path)
            }
            return output
        }
        return if let writer { try writer.acting(body) } else { try body() }
    }

    private static func changed(_ path: String) -> MoveError {
        MoveError(.changed, "\(path) was changed while it was copied", hint: "run it again")
    }
}
