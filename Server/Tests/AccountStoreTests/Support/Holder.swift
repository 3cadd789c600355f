import Foundation

/// Another process that holds SQLite's write lock: Python's driver, in an open transaction.
struct Holder {
    private let process = Process()
    private let input = Pipe()

    init(_ path: String) throws {
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1], isolation_level=None)
            database.execute("BEGIN IMMEDIATE")
            print("held", flush=True)
            sys.stdin.read()
            """, path,
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        guard !output.fileHandleForReading.availableData.isEmpty else {
            throw CocoaError(.executableLoad)
        }
    }

    func release() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
