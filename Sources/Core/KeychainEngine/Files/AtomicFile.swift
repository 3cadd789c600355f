internal import CLinux
internal import Glibc
internal import KeychainModel
internal import SecretMemory

/// A small file that is read and replaced as a whole: a reader finds either the old or the new bytes.
struct AtomicFile {
    let directory: StoreDirectory
    let name: String
    let longest: Int

    init(_ file: StoreFile, in directory: StoreDirectory, longest: Int) {
        self.directory = directory
        self.name = file.rawValue
        self.longest = longest
    }

    /// The name of the new file until it is complete.
    var temporaryName: String { name + ".new" }

    /// All bytes; nil if the file does not exist.
    func read() throws(KeychainError) -> [UInt8]? {
        guard let file = try directory.openFile(name, O_RDONLY) else { return nil }
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: longest + 1)
        var count = 0
        while count < octets.count {
            let step = unsafe octets.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(file, buffer.baseAddress.map { unsafe $0 + count }, buffer.count - count)
            }
            if step == 0 { break }
            if step < 0, errno == EINTR { continue }
            guard step > 0 else { throw FileError.keychainError(errno) }
            count += step
        }
        guard count <= longest else {
            wipe(&octets)
            throw .damaged
        }
        // In place: a copy would leave the device key in memory.
        octets.removeLast(octets.count - count)
        return octets
    }

    /// Replaces the file durably with `octets`; the former content is overwritten afterwards.
    ///
    /// - Throws: ``KeychainError`` with ``KnownCause/filesReplaced`` if the directory was moved away.
    func replace(with octets: [UInt8]) throws(KeychainError) {
        try directory.checkPlace()
        let former = try? directory.openFile(name, O_WRONLY)
        defer { former.map { _ = close($0) } }
        try writeNew(octets)
        guard unsafe renameat(directory.descriptor, temporaryName, directory.descriptor, name) == 0 else {
            throw discardNew(errno)
        }
        guard fsync(directory.descriptor) == 0 else { throw FileError.keychainError(errno) }
        if let former { Self.overwrite(former) }
    }

    /// Creates the file durably; whatever has its name stays.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if the name is taken.
    func make(_ octets: [UInt8]) throws(KeychainError) {
        try directory.checkPlace()
        try writeNew(octets)
        guard
            unsafe clinux_rename_to_free(
                directory.descriptor,
                temporaryName,
                directory.descriptor,
                name
            ) == 0
        else {
            let number = errno
            let error = discardNew(number)
            throw number == EEXIST ? KeychainError(.duplicateItem, cause: .alreadySetUp) : error
        }
        guard fsync(directory.descriptor) == 0 else {
            // Unless it is durable, it does not exist; nothing was in its place.
            let error = FileError.keychainError(errno)
            unsafe unlinkat(directory.descriptor, name, 0)
            throw error
        }
    }

    /// Removes what an interrupted write left under the temporary name.
    ///
    /// On a disk that can only be read it stays: the next write removes it.
    func removeUnfinished() { unsafe unlinkat(directory.descriptor, temporaryName, 0) }

    private func discardNew(_ number: CInt) -> KeychainError {
        unsafe unlinkat(directory.descriptor, temporaryName, 0)
        return FileError.keychainError(number)
    }

    /// Writes the bytes durably under the temporary name.
    private func writeNew(_ octets: [UInt8]) throws(KeychainError) {
        let temporary = temporaryName
        unsafe unlinkat(directory.descriptor, temporary, 0)
        let file = unsafe openat(
            directory.descriptor,
            temporary,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
            0o600
        )
        guard file >= 0 else { throw FileError.keychainError(errno) }
        defer { close(file) }
        do throws(KeychainError) {
            // The process's umask may have removed required mode bits.
            guard fchmod(file, 0o600) == 0 else { throw FileError.keychainError(errno) }
            try Self.write(octets, to: file, at: 0)
            guard fsync(file) == 0 else { throw FileError.keychainError(errno) }
        } catch {
            unsafe unlinkat(directory.descriptor, temporary, 0)
            throw error
        }
    }

    /// Makes the present file and its name durable, if they are not yet.
    func sync() throws(KeychainError) {
        guard let file = try directory.openFile(name, O_RDONLY) else {
            throw FileError.keychainError(ENOENT)
        }
        defer { close(file) }
        guard fsync(file) == 0 else { throw FileError.keychainError(errno) }
        try directory.sync()
    }

    /// Writes all of `octets` from `offset` on.
    static func write(_ octets: [UInt8], to file: CInt, at offset: Int) throws(KeychainError) {
        var count = 0
        while count < octets.count {
            let step = unsafe octets.withUnsafeBytes { buffer in
                unsafe pwrite(
                    file,
                    buffer.baseAddress.map { unsafe $0 + count },
                    buffer.count - count,
                    off_t(offset + count)
                )
            }
            if step < 0, errno == EINTR { continue }
            guard step > 0 else { throw FileError.keychainError(step == 0 ? EIO : errno) }
            count += step
        }
    }

    /// Overwrites an unlinked file with zeros, so that old wrapped keys do not stay on the disk.
    ///
    /// Best effort: nothing depends on it, and a disk that writes elsewhere (copy on write, flash) keeps the old bytes.
    private static func overwrite(_ file: CInt) {
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_nlink == 0 else { return }
        let zeros = [UInt8](repeating: 0, count: Int(status.st_size))
        guard (try? write(zeros, to: file, at: 0)) != nil else { return }
        fdatasync(file)
    }
}
