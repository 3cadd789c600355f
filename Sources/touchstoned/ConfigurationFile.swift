import Glibc

/// The file of the settings: believed only if nobody but this user and root can write it.
extension Configuration {
    /// Reads the file; a missing one is an empty one.
    static func read(_ path: String) throws(StartError) -> Configuration {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return Configuration() }
            throw StartError(
                "\(path) cannot be read (errno \(errno))",
                hint: "make it a readable file of yours"
            )
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StartError("\(path) is not a file", hint: "make it a readable file of yours")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
            throw StartError("others may write \(path)", hint: "chown it to your user and chmod 600 it")
        }
        let text = try text(descriptor, path)
        do throws(Fault) {
            return try Configuration(parsing: text)
        } catch {
            throw StartError(
                "\(path), line \(error.line): \(error.reason)",
                hint: "see touchstoned(8) for the settings"
            )
        }
    }

    private static func text(_ descriptor: CInt, _ path: String) throws(StartError) -> String {
        var octets = [UInt8](repeating: 0, count: longestFile + 1)
        var count = 0
        while count < octets.count {
            let step = unsafe octets.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(
                    descriptor,
                    buffer.baseAddress.map { unsafe $0 + count },
                    buffer.count - count
                )
            }
            if step < 0 && errno == EINTR { continue }
            guard step >= 0 else {
                throw StartError("\(path) cannot be read (errno \(errno))", hint: "check the file system")
            }
            if step == 0 { break }
            count += step
        }
        guard count <= longestFile, let text = String(validating: octets[..<count], as: UTF8.self) else {
            throw StartError("\(path) is too long or not UTF-8", hint: "see touchstoned(8) for the settings")
        }
        return text
    }
}
