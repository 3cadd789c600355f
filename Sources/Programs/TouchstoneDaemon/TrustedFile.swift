import Glibc
import KeychainModel

/// A file that controls the daemon: trusted only if no one but its owners can write it.
struct TrustedFile {
    /// The maximum size, in bytes.
    static let longest = 1 << 16

    let path: String
    /// The users that may own it.
    let owners: Set<uid_t>
    /// The hint for a file that is not trusted.
    let hint: String

    /// A file that the user or the administrator may own.
    static func ofUser(_ path: String) -> TrustedFile {
        TrustedFile(
            path: path,
            owners: [0, ProcessUser.uid],
            hint: "make it a readable file: chown it to your user and chmod 600 it"
        )
    }

    /// A file that only the administrator may own.
    static func ofAdministrator(_ path: String) -> TrustedFile {
        TrustedFile(
            path: path,
            owners: [0],
            hint: "make it a readable file: chown it to root and chmod 644 it"
        )
    }

    /// The file's text; nil if it does not exist.
    func text() throws(StartError) -> String? {
        guard let descriptor = try open(flags: 0) else { return nil }
        defer { close(descriptor) }
        try check(descriptor, is: S_IFREG)
        var octets = [UInt8](repeating: 0, count: Self.longest + 1)
        var count = 0
        while count < octets.count {
            let step = SystemCall.uninterrupted {
                unsafe octets.withUnsafeMutableBytes { buffer in
                    unsafe Glibc.read(
                        descriptor,
                        buffer.baseAddress.map { unsafe $0 + count },
                        buffer.count - count
                    )
                }
            }
            guard step >= 0 else {
                throw StartError(
                    "\(path) cannot be read (\(SystemError.name(of: errno)))",
                    hint: "check the file system"
                )
            }
            if step == 0 { break }
            count += step
        }
        guard count <= Self.longest, let text = String(validating: octets[..<count], as: UTF8.self) else {
            throw StartError("\(path) is too long or not UTF-8", hint: "see touchstoned(8) for its form")
        }
        return text
    }

    /// The names of the files in a directory that is trusted like a file, sorted bytewise.
    func names(endingIn suffix: String, atMost limit: Int) throws(StartError) -> [String] {
        guard let descriptor = try open(flags: O_DIRECTORY) else { return [] }
        guard let directory = unsafe fdopendir(descriptor) else {
            close(descriptor)
            throw StartError("\(path) cannot be read (\(SystemError.name(of: errno)))", hint: hint)
        }
        defer { unsafe closedir(directory) }
        try check(descriptor, is: S_IFDIR)
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let octets = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
                unsafe Array(name.prefix { $0 != 0 })
            }
            let name = String(decoding: octets, as: UTF8.self)
            guard name.hasSuffix(suffix), !name.hasPrefix(".") else { continue }
            names.append(name)
            guard names.count <= limit else {
                throw StartError("\(path) has more than \(limit) files", hint: "put several into one")
            }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Opens the file; nil if it does not exist.
    private func open(flags: CInt) throws(StartError) -> CInt? {
        let descriptor = unsafe Glibc.open(path, flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor < 0 else { return descriptor }
        if errno == ENOENT || errno == ENOTDIR && flags & O_DIRECTORY == 0 { return nil }
        throw StartError("\(path) cannot be read (\(SystemError.name(of: errno)))", hint: hint)
    }

    private func check(_ descriptor: CInt, is kind: mode_t) throws(StartError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == kind else {
            throw StartError("\(path) is not a \(kind == S_IFDIR ? "directory" : "file")", hint: hint)
        }
        guard owners.contains(status.st_uid), status.st_mode & 0o022 == 0 else {
            throw StartError("others may write \(path)", hint: hint)
        }
    }
}
