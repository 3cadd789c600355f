internal import Foundation

/// Files that the server creates in its data directory: readable by its user only, and either complete or absent.
enum SecretFile {
    /// Reads a file, creating it first if it does not exist.
    ///
    /// - Throws: ``ConfigurationFault`` when it can be neither read nor created.
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
        // Another server may have created it first: its content counts.
        guard let written = try existing(path) else {
            throw ConfigurationFault(place: path, reason: "is gone again")
        }
        return written
    }

    /// The text of a file; nil if it does not exist.
    static func existing(_ path: String) throws(ConfigurationFault) -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        // The mode of the file itself, not of a link to it.
        let file = URL(filePath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file),
            let mode = attributes[.posixPermissions] as? Int,
            let text = try? String(contentsOfFile: path, encoding: .utf8)
        else { throw ConfigurationFault(place: path, reason: "cannot be read") }
        guard mode & 0o077 == 0 else {
            throw ConfigurationFault(place: path, reason: "is open to others: chmod 600 it")
        }
        return text
    }

    /// Writes a temporary file, and links it to the path unless that exists.
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
