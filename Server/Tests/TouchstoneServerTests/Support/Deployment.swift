import Foundation

/// The files that are installed for the server: `dist/server`.
enum Deployment {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../..").standardizedFileURL

    /// A file's path.
    static func path(_ name: String) -> String { sources.appending(path: "dist/server/\(name)").path }

    /// A file's text.
    static func text(_ name: String) throws -> String {
        try String(contentsOfFile: path(name), encoding: .utf8)
    }

    /// The script that runs a program as the lines of a unit say.
    static let sandbox = sources.appending(path: "Sources/Kit/TouchstoneTesting/System/unit-sandbox.py").path

    /// Whether a program is installed, and may be run.
    static func isInstalled(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }
}
