import Foundation

/// Published vectors, in a directory beside the checkout; read in place.
enum VectorFiles {
    /// `TOUCHSTONE_VECTORS`, or the nearest `shared/vectors` above this file; nil if there is neither.
    static let folder: URL? = {
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
    static func has(_ name: String) -> Bool {
        guard let folder else { return false }
        return FileManager.default.isReadableFile(atPath: folder.appending(path: name).path)
    }

    /// Decodes a file of vectors.
    static func load<Vectors: Decodable>(_: Vectors.Type, from name: String) throws -> Vectors {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: folder.appending(path: name)))
    }
}

extension [UInt8] {
    /// The bytes of a hexadecimal string.
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue).map(UInt8.init)
        self = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
