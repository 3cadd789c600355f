import Foundation

/// Published test vectors, in a directory beside the checkout; read in place, and not part of the repository.
package enum PublishedVectors {
    /// `TOUCHSTONE_VECTORS`, or the nearest `shared/vectors` above this file; nil if there is neither.
    private static let folder: URL? = {
        if let path = ProcessInfo.processInfo.environment["TOUCHSTONE_VECTORS"] {
            return URL(filePath: path, directoryHint: .isDirectory)
        }
        var parent = URL(filePath: #filePath).deletingLastPathComponent()
        while parent.pathComponents.count > 1 {
            parent.deleteLastPathComponent()
            let candidate = parent.appending(path: "shared/vectors", directoryHint: .isDirectory)
            if FileManager.default.fileExists(atPath: candidate.path) { return candidate }
        }
        return nil
    }()

    /// Whether this file is readable.
    package static func has(_ name: String) -> Bool {
        guard let folder else { return false }
        return FileManager.default.isReadableFile(atPath: folder.appending(path: name).path)
    }

    /// Decodes a JSON file of vectors.
    package static func load<Vectors: Decodable>(_: Vectors.Type, from name: String) throws -> Vectors {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: folder.appending(path: name)))
    }
}
