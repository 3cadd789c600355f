internal import Glibc
internal import KeychainModel
internal import SecretMemory

/// An export in an unlinked file, which is freed with the process however that ends.
final class UnnamedFile: ExportFile {
    /// Left behind, empty, only by a crash between two system calls.
    static let name = "export.new"

    private let descriptor: CInt
    private let size = Guarded(0)

    /// Creates an empty file on the disk of the store.
    init(in directory: StoreDirectory) throws(KeychainError) {
        unsafe unlinkat(directory.descriptor, Self.name, 0)
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        descriptor = unsafe openat(directory.descriptor, Self.name, flags, 0o600)
        guard descriptor >= 0 else { throw FileError.keychainError(errno) }
        guard unsafe unlinkat(directory.descriptor, Self.name, 0) == 0 else {
            let reason = errno
            close(descriptor)
            throw FileError.keychainError(reason)
        }
    }

    deinit { close(descriptor) }

    var count: Int { size.withLock { $0 } }

    func append(_ octets: [UInt8]) throws(KeychainError) {
        try size.withLock { size throws(KeychainError) in
            guard size + octets.count <= MigrationLimits.mostOctets else {
                throw KeychainError(.dataTooLarge, cause: DriverCause(domain: "export", code: "too large"))
            }
            try AtomicFile.write(octets, to: descriptor, at: size)
            size += octets.count
        }
    }

    func read(from offset: Int, upTo count: Int) throws(KeychainError) -> [UInt8] {
        let wanted = min(count, self.count - offset)
        guard wanted > 0 else { return [] }
        var octets = [UInt8](repeating: 0, count: wanted)
        var done = 0
        while done < wanted {
            let step = unsafe octets.withUnsafeMutableBytes { room in
                unsafe pread(
                    descriptor,
                    room.baseAddress.map { unsafe $0 + done },
                    wanted - done,
                    off_t(offset + done)
                )
            }
            if step < 0, errno == EINTR { continue }
            guard step > 0 else { throw FileError.keychainError(step == 0 ? EIO : errno) }
            done += step
        }
        return octets
    }
}
