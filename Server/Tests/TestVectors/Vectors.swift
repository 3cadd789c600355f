import Foundation
public import Testing
public import WebAuthnModel

/// Published test vectors, in a directory beside the checkout; read in place, and not part of the repository.
public enum Vectors {
    /// `TOUCHSTONE_VECTORS`, or `shared/vectors` beside the checkout.
    private static let directory: URL = {
        if let path = ProcessInfo.processInfo.environment["TOUCHSTONE_VECTORS"] { return URL(filePath: path) }
        // This file is in Server/Tests/TestVectors.
        var place = URL(filePath: #filePath)
        for _ in 0..<5 { place.deleteLastPathComponent() }
        return place.appending(path: "shared/vectors")
    }()

    /// Whether the directory exists.
    public static var areThere: Bool { FileManager.default.fileExists(atPath: directory.path) }

    /// Parses a JSON file; allows deeper nesting than for a client's JSON.
    public static func json(_ path: String) throws -> JSONObject {
        let data = try Data(contentsOf: directory.appending(path: path))
        return try #require(try JSONValue(parsing: Array(data), depth: 32).object)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test where the published vectors are missing.
    public static var vectors: Self {
        .enabled(if: Vectors.areThere, "the published vectors are not there")
    }
}

extension JSONObject {
    /// The bytes of a hexadecimal member.
    public func hexadecimal(_ name: String) throws -> [UInt8] {
        let text = Array(try #require(self[name]?.string).utf8)
        return stride(from: 0, to: text.count, by: 2).compactMap {
            UInt8(String(decoding: text[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }
}
