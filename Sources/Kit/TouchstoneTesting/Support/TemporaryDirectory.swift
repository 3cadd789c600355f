import Foundation
import Glibc

/// A private directory that is removed with its content when the value is released.
package final class TemporaryDirectory: Sendable {
    /// The directory's path.
    package let path: String

    /// Creates the directory.
    ///
    /// - Parameter mode: its permissions; sockets for other users need 0711.
    /// - Throws: ``TestKitError`` with the system's reason.
    package init(mode: UInt32 = 0o700) throws {
        var template = Array("\(FileManager.default.temporaryDirectory.path)/touchstone-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw TestKitError.system("mkdtemp", errno: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard unsafe chmod(path, mode) == 0 else { throw TestKitError.system("chmod", errno: errno) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of `name` inside.
    package func appending(_ name: String) -> String { "\(path)/\(name)" }

    /// Creates a directory inside, and returns its path.
    package func makeDirectory(_ name: String, mode: UInt32 = 0o700) throws -> String {
        let path = appending(name)
        guard unsafe mkdir(path, mode) == 0, unsafe chmod(path, mode) == 0 else {
            throw TestKitError.system("mkdir", errno: errno)
        }
        return path
    }

    /// Writes a file inside, and returns its path.
    package func write(_ text: String, to name: String) throws -> String {
        let path = appending(name)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        guard unsafe chmod(path, 0o644) == 0 else { throw TestKitError.system("chmod", errno: errno) }
        return path
    }
}
