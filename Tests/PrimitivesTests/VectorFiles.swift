import Foundation

/// The vectors of swift-crypto's own tests, read in place.
enum VectorFiles {
    /// In the checkout within the running program's build directory; nil if that is elsewhere.
    static let folder: URL? = {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        else { return nil }
        var parent = URL(filePath: program)
        while parent.pathComponents.count > 1 {
            parent.deleteLastPathComponent()
            let candidate = parent.appending(path: "checkouts/swift-crypto/Tests/Test Vectors")
            if FileManager.default.fileExists(atPath: candidate.path) { return candidate }
        }
        return nil
    }()

    private static func data(of name: String) throws -> Data {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return try Data(contentsOf: folder.appending(path: name))
    }

    /// Decodes a file of Wycheproof's.
    static func load<Vectors: Decodable>(_: Vectors.Type, from name: String) throws -> Vectors {
        try JSONDecoder().decode(Vectors.self, from: data(of: name))
    }

    /// The cases of a file of `NAME = VALUE` lines, each of which starts with `COUNT`.
    static func fields(of name: String) throws -> [[String: String]] {
        var cases: [[String: String]] = []
        for line in String(decoding: try data(of: name), as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard let name = parts.first, !name.hasPrefix("#") else { continue }
            if name == "COUNT" { cases.append([:]) }
            guard !cases.isEmpty else { continue }
            cases[cases.count - 1][name] = parts.count > 1 ? parts[1] : ""
        }
        return cases
    }
}
