internal import Foundation

/// An SQLite file as another program sees it.
package enum SQLiteFile {
    package struct Failure: Error, CustomStringConvertible { package let description: String }

    /// Runs statements, and ends the transaction.
    package static func run(_ statements: String, on path: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1], timeout=60)
            database.executescript(sys.argv[2])
            database.commit()
            """,
            path, statements,
        ]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: statements) }
    }
}
