import Foundation
import Glibc
import TouchstoneTesting

extension Programs {
    /// Whether a program exists.
    static func isBuilt(_ path: String) -> Bool { access(path, X_OK) == 0 }

    /// The root of the package's sources.
    static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}
