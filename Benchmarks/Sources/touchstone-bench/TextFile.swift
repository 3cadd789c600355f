import Foundation

/// Small text files.
enum TextFile {
    /// Reads the whole text.
    static func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
}
