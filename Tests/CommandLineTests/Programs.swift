import Foundation
import Glibc

/// The programs under test: beside the test bundle, or where `TOUCHSTONE_BIN`, a directory or a program in it, says.
enum Programs {
    static let touchstone = path("touchstone")
    static let touchstoned = path("touchstoned")

    /// Whether a program has been built.
    static func isBuilt(_ path: String) -> Bool { access(path, X_OK) == 0 }

    /// The root of the package's sources.
    static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func path(_ name: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        if name == "touchstoned", let daemon = environment["TOUCHSTONE_DAEMON"] { return daemon }
        guard let chosen = environment["TOUCHSTONE_BIN"] else {
            return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                .deletingLastPathComponent().appending(path: name).path
        }
        var isDirectory: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: chosen, isDirectory: &isDirectory)
        let directory = URL(fileURLWithPath: chosen)
        return (isDirectory.boolValue ? directory : directory.deletingLastPathComponent()).appending(
            path: name
        ).path
    }
}
