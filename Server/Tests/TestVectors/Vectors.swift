import Foundation
public import Testing
public import WebAuthnModel

/// Published test data beside the project; read in place.
public enum Vectors {
    private static let directory: URL = {
        // Server/Tests/TestVectors, in a project that the shared folder is beside.
        var place = URL(filePath: #filePath)
        for _ in 0..<5 { place.deleteLastPathComponent() }
        return place.appending(path: "shared/vectors")
    }()

    /// Whether they are there.
    public static var areThere: Bool { FileManager.default.fileExists(atPath: directory.path) }

    /// A file of JSON; deeper than what a client may send.
    public static func json(_ path: String) throws -> JSONObject {
        let data = try Data(contentsOf: directory.appending(path: path))
        return try #require(try JSONValue(parsing: Array(data), depth: 32).object)
    }
}

extension Trait where Self == ConditionTrait {
    /// Says why a test is not run where the published vectors are not beside the project.
    public static var vectors: Self {
        .enabled(if: Vectors.areThere, "the published vectors are not beside the project")
    }
}

extension JSONObject {
    /// A member in hexadecimal.
    public func hexadecimal(_ name: String) throws -> [UInt8] {
        let text = Array(try #require(self[name]?.string).utf8)
        return stride(from: 0, to: text.count, by: 2).compactMap {
            UInt8(String(decoding: text[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }
}
