import Foundation
import KeychainModel

/// A private `TOUCHSTONE_HOME` that is removed with its owner.
final class TemporaryHome: Sendable {
    let path: String

    init() throws {
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

    var layout: Layout {
        Layout(
            runtimeDirectory: path + "/run",
            dataDirectory: path + "/data",
            configurationFile: path + "/touchstoned.conf"
        )
    }

    /// Writes an executable script, and returns its path.
    func script(_ text: String) throws -> String {
        let file = path + "/script"
        try "#!/bin/sh\n\(text)\n".write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: file)
        return file
    }
}
