import Glibc

/// System files that are read as a whole: settings, lists of users, proc(5) files.
package enum SmallFile {
    /// The whole file, or a little more than its first `limit` bytes; nil if it cannot be read.
    package static func bytes(_ path: String, upTo limit: Int) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 14)
        while bytes.count < limit {
            let count = SystemCall.uninterrupted { unsafe read(file, &part, part.count) }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes += part[..<count]
        }
        return bytes
    }
}
