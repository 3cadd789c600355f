internal import Foundation

/// A file with one SHA-256 per line in hexadecimal, and comments from `#` on.
enum DigestList {
    /// - Throws: ``ConfigurationFault`` for a file that cannot be read, and for another line.
    static func read(_ path: String) throws(ConfigurationFault) -> Set<[UInt8]> {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ConfigurationFault(place: path, reason: "cannot be read")
        }
        var digests: Set<[UInt8]> = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .enumerated()
        {
            let content = line.prefix { $0 != "#" }.filter { !$0.isWhitespace }
            guard !content.isEmpty else { continue }
            guard let bytes = [UInt8](hexadecimal: content), bytes.count == 32 else {
                throw ConfigurationFault(
                    place: "\(path), line \(index + 1)",
                    reason: "must be a SHA-256 in hexadecimal"
                )
            }
            digests.insert(bytes)
        }
        return digests
    }
}
