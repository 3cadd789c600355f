import Glibc
import KeychainModel
import SecretMemory

/// Where log lines go: standard error, or a log file of the daemon that is rotated at a maximum size.
final class LogSink: Sendable {
    /// The size in bytes at which `daemon.log` is renamed to `daemon.log.1` and a new file is started.
    private static let longestFile = 1 << 20

    private struct File {
        var descriptor: CInt
        var size: Int
    }
    private let path: String?
    private let file: Guarded<File>

    /// Writes to standard error.
    init() {
        path = nil
        file = Guarded(File(descriptor: 2, size: 0))
    }

    /// Appends to the file, which is created with mode 0600 if it is missing.
    init(path: String) throws(StartError) {
        self.path = path
        file = Guarded(try Self.open(path))
    }

    deinit {
        if path != nil { file.withLock { _ = close($0.descriptor) } }
    }

    /// Writes one line in a single call, so that lines do not mix.
    func write(_ line: String) {
        let octets = Array((line + "\n").utf8)
        file.withLock { file in
            if let path, file.size + octets.count > Self.longestFile { Self.rotate(path, &file) }
            let count = unsafe octets.withUnsafeBytes { octets in
                unsafe Glibc.write(file.descriptor, octets.baseAddress, octets.count)
            }
            file.size += max(0, count)
        }
    }

    private static func rotate(_ path: String, _ file: inout File) {
        guard unsafe rename(path, path + ".1") == 0, let next = try? open(path) else {
            // A long file is better than a lost line.
            file.size = 0
            return
        }
        close(file.descriptor)
        file = next
    }

    private static func open(_ path: String) throws(StartError) -> File {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe Glibc.open(path, flags, 0o600)
        var status = stat()
        guard descriptor >= 0, unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == ProcessUser.uid, status.st_nlink == 1, status.st_mode & 0o777 == 0o600
        else {
            if descriptor >= 0 { close(descriptor) }
            throw StartError("\(path) is not a file of yours alone", hint: "remove it")
        }
        return File(descriptor: descriptor, size: Int(status.st_size))
    }
}
