internal import Foundation

/// Files in the data directory that the server makes for itself: readable by its user only, written whole or not at all.
enum SecretFile {
    /// Reads a file, and makes it first where there is none.
    ///
    /// - Throws: ``ConfigurationFault`` when it can be neither read nor made.
    static func readOrMake(
        _ path: String,
        _ make: () throws -> String
    ) throws(ConfigurationFault) -> String {
        if let text = try existing(path) { return text }
        let text: String
        do { text = try make() } catch {
            throw ConfigurationFault(place: path, reason: "cannot be made: \(error)")
        }
        try write(text, to: path)
        // Another server may have been first: what lies there now counts.
        guard let written = try existing(path) else {
            throw ConfigurationFault(place: path, reason: "is gone again")
        }
        return written
    }

    /// The text of a file; nil when there is none.
    static func existing(_ path: String) throws(ConfigurationFault) -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let mode = attributes[.posixPermissions] as? Int,
            let text = try? String(contentsOfFile: path, encoding: .utf8)
        else { throw ConfigurationFault(place: path, reason: "cannot be read") }
        guard mode & 0o077 == 0 else {
            throw ConfigurationFault(place: path, reason: "is open to others: chmod 600 it")
        }
        return text
    }

    /// Writes a file beside the place, and links it there unless something is there.
    private static func write(_ text: String, to path: String) throws(ConfigurationFault) {
        let temporary = "\(path).\(Random.bytes(8).hexadecimal)"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw fault(path) }
        defer { unlink(temporary) }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            guard count > 0 else {
                close(descriptor)
                throw fault(path)
            }
            bytes = bytes.dropFirst(count)
        }
        let isWritten = fsync(descriptor) == 0
        close(descriptor)
        guard isWritten else { throw fault(path) }
        guard link(temporary, path) == 0 || errno == EEXIST else { throw fault(path) }
    }

    private static func fault(_ path: String) -> ConfigurationFault {
        ConfigurationFault(place: path, reason: "cannot be written: \(String(cString: strerror(errno)))")
    }
}
