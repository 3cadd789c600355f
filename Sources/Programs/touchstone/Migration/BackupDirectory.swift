import CLinux
import Glibc
import KeychainModel

/// A directory with backups that have the time in their names: `touchstone-20261127T151500Z.backup`.
struct BackupDirectory {
    private static let prefix = "touchstone-"
    private static let suffix = ".backup"
    private static let stampByteCount = "20261127T151500Z".utf8.count

    let path: String

    /// The directory at a path; nil if there is none.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        self.path = path
    }

    /// The path of a backup that is written now.
    func newFile() -> String {
        let stamp = DateText.iso8601(microseconds: Int64(time(nil)) * 1_000_000)
            .filter { $0 != "-" && $0 != ":" }
        return "\(path)/\(Self.prefix)\(stamp)\(Self.suffix)"
    }

    /// Removes the oldest backups until `count` are left; never `latest`, and nothing that has another name or is no file.
    func keep(_ count: Int, latest: String) throws(CommandError) {
        let latest = String(latest.dropFirst(path.utf8.count + 1))
        let others = try names().filter { $0 != latest }.sorted()
        for name in others.dropLast(count - 1) {
            guard unsafe unlink("\(path)/\(name)") == 0 || errno == ENOENT else {
                throw CommandError("cannot remove \(path)/\(name): \(SystemError.name(of: errno))")
            }
        }
    }

    private func names() throws(CommandError) -> [String] {
        guard let directory = unsafe opendir(path) else {
            throw CommandError("cannot read \(path): \(SystemError.name(of: errno))")
        }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            var status = stat()
            guard Self.isBackup(name), unsafe lstat("\(path)/\(name)", &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            names.append(name)
        }
        return names
    }

    private static func isBackup(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
        let stamp = name.dropFirst(prefix.count).dropLast(suffix.count)
        return stamp.utf8.count == stampByteCount
            && stamp.utf8.enumerated().allSatisfy { place, byte in
                switch place {
                case 8: byte == UInt8(ascii: "T")
                case stampByteCount - 1: byte == UInt8(ascii: "Z")
                default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                }
            }
    }
}
