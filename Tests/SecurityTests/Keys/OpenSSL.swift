import Foundation
import Testing

/// The `openssl` program in a directory of its own: another maker's word on signatures and ciphertexts.
struct OpenSSL: ~Copyable {
    /// Whether the program is there.
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
    private static let path = "/usr/bin/openssl"

    private let directory: URL

    /// Makes the directory.
    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "openssl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Writes a file.
    func write(_ name: String, _ octets: Data) throws {
        try octets.write(to: directory.appending(path: name))
    }

    /// Reads a file.
    func read(_ name: String) throws -> Data { try Data(contentsOf: directory.appending(path: name)) }

    /// A file's path.
    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// Runs it in the directory: whether it succeeded, and its output.
    @discardableResult
    func run(_ arguments: [String]) throws -> (isSuccess: Bool, output: Data) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let octets = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus == 0, octets)
    }
}
