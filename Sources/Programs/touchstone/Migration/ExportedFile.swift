import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// An export being written: a temporary file beside the target until it is complete and durable.
final class ExportedFile: ExportTarget {
    private struct State {
        /// Open once the first bytes are written.
        var descriptor: CInt?
        var count = 0
        var failure: CommandError?
    }

    private let path: String
    private let temporary: String
    private let replaces: Bool
    private let state = Guarded(State())

    /// Checks that the target can be written; creates nothing yet.
    init(_ path: String, replaces: Bool) throws(CommandError) {
        self.path = path
        self.replaces = replaces
        // Not by the process's number: in a container a killed command may have had the same.
        temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
        try checkPlace()
        guard unsafe access(Self.directory(of: path), W_OK | X_OK) == 0 else { throw Self.failure(path) }
    }

    deinit { discard() }

    /// The number of bytes written.
    var count: Int { state.withLock { $0.count } }

    /// The error of a failed write.
    var failure: CommandError? { state.withLock { $0.failure } }

    /// Appends bytes.
    ///
    /// - Throws: ``KeychainError`` with `errSecIO`; ``failure`` then has the details.
    func append(_ octets: [UInt8]) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            do throws(CommandError) {
                if state.descriptor == nil { state.descriptor = try open() }
                guard let descriptor = state.descriptor else { return }
                try write(octets, to: descriptor)
                state.count += octets.count
            } catch {
                state.failure = error
                throw KeychainError(.io)
            }
        }
    }

    /// Moves the complete file to the target, durably.
    func finish() throws(CommandError) {
        try state.withLock { state throws(CommandError) in
            guard let descriptor = state.descriptor else { throw CommandError("the export is empty") }
            guard fsync(descriptor) == 0 else { throw Self.failure(path) }
            try checkPlace()
            guard unsafe rename(temporary, path) == 0 else { throw Self.failure(path) }
            close(descriptor)
            state.descriptor = nil
        }
        let directory = unsafe Glibc.open(Self.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Self.failure(path) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Self.failure(path) }
    }

    /// Removes an incomplete file.
    func discard() {
        state.withLock { state in
            guard let descriptor = state.descriptor else { return }
            close(descriptor)
            unsafe unlink(temporary)
            state.descriptor = nil
        }
    }

    private func checkPlace() throws(CommandError) {
        var status = stat()
        guard !replaces, unsafe lstat(path, &status) == 0 else { return }
        throw CommandError(
            "\(path) exists already",
            hint: "use --replace to replace it",
            exitCode: .existsAlready
        )
    }

    private func open() throws(CommandError) -> CInt {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe Glibc.open(temporary, flags, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        return descriptor
    }

    private func write(_ octets: [UInt8], to descriptor: CInt) throws(CommandError) {
        var done = 0
        while done < octets.count {
            let step = unsafe octets[done...].withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if step < 0, errno == EINTR { continue }
            guard step > 0 else { throw Self.failure(path) }
            done += step
        }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func failure(_ path: String) -> CommandError {
        CommandError("cannot write \(path): \(SystemError.name(of: errno))")
    }
}

/// An export to import.
struct ImportedFile: ~Copyable {
    private let descriptor: CInt
    private let path: String
    /// The size in bytes.
    let count: Int

    /// Opens an export; `purpose` names it in errors.
    init(_ path: String, _ purpose: SealedExport) throws(CommandError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure(path) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
            status.st_size <= MigrationLimits.mostOctets
        else {
            close(descriptor)
            throw purpose.isNot(path)
        }
        self.descriptor = descriptor
        self.path = path
        count = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// Sends the file to the daemon.
    borrowing func send() throws {
        let progress = Progress("Reading")
        defer { progress.clear() }
        var offset = 0
        repeat {
            let octets = try read(from: offset)
            try RemoteKeychain.shared.sendImport(ImportPart(offset: offset, octets: octets))
            offset += octets.count
            progress.showLater(offset, count)
        } while offset < count
    }

    /// The next bytes, at most one part's size.
    private borrowing func read(from offset: Int) throws(CommandError) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: min(MigrationLimits.partOctets, count - offset))
        let step = unsafe octets.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, off_t(offset))
        }
        guard step > 0 else { throw Self.failure(path) }
        return Array(octets[..<step])
    }

    private static func failure(_ path: String) -> CommandError {
        CommandError("cannot read \(path): \(SystemError.name(of: errno))")
    }
}
