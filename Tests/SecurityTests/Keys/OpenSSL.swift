import Foundation
import Testing
import TouchstoneTesting

/// The `openssl` program in a private directory: an independent implementation of signatures and ciphertexts.
struct OpenSSL {
    /// Whether the program is installed.
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
    private static let path = "/usr/bin/openssl"

    private let directory: TemporaryDirectory

    /// Creates the directory.
    init() throws { directory = try TemporaryDirectory() }

    /// Writes a file.
    func write(_ name: String, _ octets: Data) throws {
        try octets.write(to: URL(fileURLWithPath: path(name)))
    }

    /// Reads a file.
    func read(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    /// A file's path.
    func path(_ name: String) -> String { directory.appending(name) }

    /// Runs openssl in the directory; returns whether it succeeded, and its output.
    @discardableResult
    func run(_ arguments: [String]) throws -> (isSuccess: Bool, output: Data) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let octets = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus == 0, octets)
    }
}
