import Foundation
import Glibc

/// The programs under test: beside the test bundle, or where `TOUCHSTONE_BIN` says.
enum Programs {
    static let touchstone = path("touchstone")
    static let touchstoned = path("touchstoned")

    /// Whether a program has been built.
    static func isBuilt(_ path: String) -> Bool { access(path, X_OK) == 0 }

    /// The root of the package's sources.
    static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func path(_ name: String) -> String {
        let directory =
            ProcessInfo.processInfo.environment["TOUCHSTONE_BIN"]
            ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .path
        return directory + "/" + name
    }
}
