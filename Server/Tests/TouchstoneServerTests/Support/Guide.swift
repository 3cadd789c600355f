import Foundation

/// The guide for services, whose programs are run by tests as they are printed.
enum Guide {
    /// The code block that follows a comment in the guide.
    static func block(after marker: String) throws -> String {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/PROTECT-YOUR-API.md").standardizedFileURL
        let text = try String(contentsOf: path, encoding: .utf8)
        let parts = text.components(separatedBy: marker)
        guard parts.count == 2, let start = parts[1].firstRange(of: "```"),
            let line = parts[1][start.upperBound...].firstIndex(of: "\n"),
            let end = parts[1][line...].firstRange(of: "```")
        else { throw Missing(marker: marker) }
        return String(parts[1][parts[1].index(after: line)..<end.lowerBound])
    }

    struct Missing: Error { let marker: String }
}
