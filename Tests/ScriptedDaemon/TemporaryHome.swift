import Foundation
package import KeychainModel

/// A private `TOUCHSTONE_HOME` that is deleted with its owner.
package final class TemporaryHome: Sendable {
    /// The directory.
    package let path: String

    /// Creates it, with the directories that a daemon would create.
    package init() throws {
        path = FileManager.default.temporaryDirectory.path + "/client-\(UUID().uuidString.prefix(8))"
        for directory in [path, path + "/run", path + "/data"] {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The paths in it.
    package var layout: Layout {
        Layout(
            runtimeDirectory: path + "/run",
            dataDirectory: path + "/data",
            configurationFile: path + "/touchstoned.conf"
        )
    }

    /// Writes an executable script, and returns its path.
    ///
    /// A shell writes it: if this process had the file open, a program started by another thread could inherit the descriptor,
    /// and a file open for writing cannot be executed.
    package func script(_ text: String) throws -> String {
        let file = path + "/script"
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod 700 \"$2\""
        shell.arguments = ["-c", write, "sh", text, file]
        try shell.run()
        shell.waitUntilExit()
        return file
    }
}
