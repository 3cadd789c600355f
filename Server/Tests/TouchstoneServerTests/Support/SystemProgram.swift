import Foundation

/// Programs of Debian's packages.
enum SystemProgram {
    /// Runs one of `/usr/bin` to its end, with a file as its standard input, or with that of this process.
    ///
    /// - Returns: the exit status, and what it wrote to both outputs.
    static func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: URL? = nil
    ) async throws -> (status: Int32, text: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/" + program)
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        if let input { process.standardInput = try FileHandle(forReadingFrom: input) }
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = try await Task.detached {
            String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }.value
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
