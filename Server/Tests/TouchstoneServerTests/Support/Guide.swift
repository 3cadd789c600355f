import Foundation

/// The guides, whose programs and configurations are run by tests as they are printed.
enum Guide: String {
    /// For services.
    case services = "PROTECT-YOUR-API.md"
    /// For those who run the server.
    case deployment = "DEPLOY.md"

    /// The code block that follows a comment in the guide for services.
    static func block(after marker: String) throws -> String { try Self.services.block(after: marker) }

    /// The text of this guide.
    func text() throws -> String {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/\(rawValue)").standardizedFileURL
        return try String(contentsOf: path, encoding: .utf8)
    }

    /// The code block that follows a comment in this guide.
    func block(after marker: String) throws -> String {
        let text = try text()
        let parts = text.components(separatedBy: marker)
        guard parts.count == 2, let start = parts[1].firstRange(of: "```"),
            let line = parts[1][start.upperBound...].firstIndex(of: "\n"),
            let end = parts[1][line...].firstRange(of: "```")
        else { throw Missing(marker: marker) }
        return String(parts[1][parts[1].index(after: line)..<end.lowerBound])
    }

    struct Missing: Error { let marker: String }
}
