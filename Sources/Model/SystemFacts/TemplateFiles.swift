import Glibc
package import KeychainModel

/// fprintd's template files of one user: `DIRECTORY/USER/DRIVER/DEVICE/FINGER`.
///
/// Each enrolment writes a new file, so that the records change even if the names do not. They contain the templates
/// themselves: callers store only a keyed digest of them.
package struct TemplateFiles: TemplateReader {
    /// fprintd has one level for the driver, one for the device.
    private static let depthLimit = 4
    private static let fileLimit = 256
    /// Templates have some 10 KiB; beyond the limit, only name, inode, time and size are recorded.
    private static let contentLimit = 1 << 20

    private let directory: String
    private let user: String?

    /// The files below fprintd's `directory`; nil stands for the user that this process runs as.
    package init(directory: String, user: String?) {
        self.directory = directory
        self.user = user ?? Owner.ofThisProcess().name
    }

    /// A record of each file, sorted by path.
    ///
    /// - Parameter expectingSome: whether fprintd reports enrolled fingers.
    /// - Returns: nil if the files cannot be read, or are not the ones in use.
    package func records(expectingSome: Bool) -> [UInt8]? {
        guard let look = look(), !(look.count == 0 && expectingSome) else { return nil }
        return look.records
    }

    /// The state of the templates.
    package func templates(expectingSome: Bool) async -> Enrolment.Templates {
        records(expectingSome: expectingSome).map(Enrolment.Templates.digest) ?? .unreadable
    }

    /// A record of each file, sorted by path, and the number of files; nil if they cannot be read.
    package func look() -> (records: [UInt8], count: Int)? {
        guard let user, !user.isEmpty, !user.contains("/"), user != ".", user != ".." else { return nil }
        let root = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return nil }
        defer { close(root) }
        var files: [File] = []
        guard Self.collect(user, in: root, prefix: "", depth: 0, into: &files) else { return nil }
        files.sort { $0.path.lexicographicallyPrecedes($1.path) }
        var records = Array("touchstone fprint templates 1".utf8)
        for file in files { file.append(to: &records) }
        return (records, files.count)
    }

    // MARK: One file

    private struct File {
        let path: [UInt8]
        let status: stat
        let content: [UInt8]

        func append(to records: inout [UInt8]) {
            append(path, to: &records)
            append(UInt64(status.st_ino), to: &records)
            append(UInt64(bitPattern: Int64(status.st_mtim.tv_sec)), to: &records)
            append(UInt64(bitPattern: Int64(status.st_mtim.tv_nsec)), to: &records)
            append(UInt64(bitPattern: Int64(status.st_size)), to: &records)
            append(content, to: &records)
        }

        private func append(_ octets: [UInt8], to records: inout [UInt8]) {
            append(UInt64(octets.count), to: &records)
            records += octets
        }

        private func append(_ number: UInt64, to records: inout [UInt8]) {
            for shift in stride(from: 56, through: 0, by: -8) {
                records.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
            }
        }
    }

    /// Adds the file `name`, or all files below the directory `name`; false if any of them cannot be read.
    private static func collect(
        _ name: String,
        in parent: CInt,
        prefix: String,
        depth: Int,
        into files: inout [File]
    ) -> Bool {
        let descriptor = unsafe openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        // No finger was ever enrolled for this user: a valid, empty result.
        guard descriptor >= 0 else { return depth == 0 && errno == ENOENT }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return false }
        let path = prefix + name
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            guard depth < depthLimit, let names = entries(descriptor) else { return false }
            return names.allSatisfy {
                collect($0, in: descriptor, prefix: path + "/", depth: depth + 1, into: &files)
            }
        case S_IFREG:
            guard files.count < fileLimit else { return false }
            let used = files.reduce(0) { $0 + $1.content.count }
            guard let content = read(descriptor, atMost: contentLimit - used) else { return false }
            files.append(File(path: Array(path.utf8), status: status, content: content))
            return true
        default: return true
        }
    }

    private static func entries(_ directory: CInt) -> [String]? {
        let copy = unsafe openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return nil }
        guard let stream = unsafe fdopendir(copy) else {
            close(copy)
            return nil
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
            guard names.count <= fileLimit else { return nil }
        }
        return names.sorted()
    }

    private static func read(_ descriptor: CInt, atMost limit: Int) -> [UInt8]? {
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while content.count < limit {
            let count = SystemCall.uninterrupted {
                unsafe Glibc.read(descriptor, &chunk, min(chunk.count, limit - content.count))
            }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            content += chunk[..<count]
        }
        return content
    }
}
