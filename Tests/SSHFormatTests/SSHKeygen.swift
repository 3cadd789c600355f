import Foundation
import SSHFormat
import Testing

/// The `ssh-keygen` program in a private directory: an independent implementation of the formats.
final class SSHKeygen {
    private let directory: URL

    /// Creates the directory.
    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "ssh-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Writes a file.
    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: directory.appending(path: name))
    }

    /// Reads a file.
    func read(_ name: String) throws -> String {
        try String(contentsOf: directory.appending(path: name), encoding: .utf8)
    }

    /// Runs ssh-keygen in the directory, and returns its output.
    @discardableResult
    func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ssh-keygen")
        process.arguments = arguments
        process.currentDirectoryURL = directory
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "ssh-keygen \(arguments)")
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Makes a key without a passphrase, and returns the line of its `.pub` file.
    func makeKey(_ name: String, type: String = "ed25519", bits: Int? = nil) throws -> String {
        let size = bits.map { ["-b", "\($0)"] } ?? []
        try run(["-q", "-t", type] + size + ["-N", "", "-C", "a comment", "-f", name])
        return try read(name + ".pub")
    }
}

/// A kind of key that ssh-keygen makes.
struct KeyKind: CustomTestStringConvertible, Sendable {
    let type: String
    let bits: Int?
    let algorithm: String

    var testDescription: String { "\(type) \(bits ?? 0)" }

    static let all = [
        KeyKind(type: "ed25519", bits: nil, algorithm: "ssh-ed25519"),
        KeyKind(type: "ecdsa", bits: 256, algorithm: "ecdsa-sha2-nistp256"),
        KeyKind(type: "ecdsa", bits: 384, algorithm: "ecdsa-sha2-nistp384"),
        KeyKind(type: "ecdsa", bits: 521, algorithm: "ecdsa-sha2-nistp521"),
        KeyKind(type: "rsa", bits: 1024, algorithm: "ssh-rsa"),
        KeyKind(type: "rsa", bits: 2056, algorithm: "ssh-rsa"),
    ]
}

/// The bytes of the base64 in a line of a key.
func blob(ofLine line: String) throws -> [UInt8] {
    let fields = line.split(separator: " ")
    try #require(fields.count >= 2)
    return Array(try #require(Data(base64Encoded: String(fields[1]))))
}
