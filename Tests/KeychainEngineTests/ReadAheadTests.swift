import Foundation
import GRDB
import Testing

@testable import KeychainEngine

@Suite("Read-ahead in the items file")
struct ReadAheadTests {
    private let path = FileManager.default.temporaryDirectory.path + "/touchstone-" + UUID().uuidString

    /// A database file with two rows per page, with SQLite's page cache empty.
    private func open() throws -> DatabaseQueue {
        try #require(ItemDatabase.hasFiles)
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            try database.execute(sql: "PRAGMA page_size = \(ItemSchema.pageByteCount)")
            try database.execute(sql: "CREATE TABLE rows (id INTEGER PRIMARY KEY, word TEXT, rest BLOB)")
            try database.inTransaction {
                for id in 1...600 {
                    try database.execute(
                        sql: "INSERT INTO rows VALUES (?, 'first', zeroblob(400))",
                        arguments: [id]
                    )
                }
                return .commit
            }
        }
        try forget(queue)
        return queue
    }

    private func forget(_ queue: DatabaseQueue) throws {
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA shrink_memory") }
    }

    private func words(_ queue: DatabaseQueue, _ ids: ClosedRange<Int>) throws -> [String] {
        try queue.read {
            try String.fetchAll(
                $0,
                sql: "SELECT word FROM rows WHERE id BETWEEN ? AND ? ORDER BY id",
                arguments: [ids.lowerBound, ids.upperBound]
            )
        }
    }

    @Test("every row is read, including those on the last page")
    func wholeFile() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let queue = try open()
        #expect(try words(queue, 1...600) == Array(repeating: "first", count: 600))
        #expect(try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    }

    @Test("rows updated after the read-ahead are current", arguments: [5...7, 10...20, 1...600])
    func written(_ changed: ClosedRange<Int>) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let queue = try open()
        // The root and the first leaves are cached now and are read first again.
        _ = try words(queue, 1...20)
        try queue.write {
            try $0.execute(
                sql: "UPDATE rows SET word = 'other' WHERE id BETWEEN ? AND ?",
                arguments: [changed.lowerBound, changed.upperBound]
            )
        }
        try forget(queue)
        let expected = (1...600).map { changed.contains($0) ? "other" : "first" }
        #expect(try words(queue, 1...600) == expected)
    }

    @Test("rows removed by truncation are not returned")
    func cut() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let queue = try open()
        _ = try words(queue, 1...20)
        try queue.write { try $0.execute(sql: "DELETE FROM rows WHERE id > 100") }
        try queue.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
        try forget(queue)
        #expect(try words(queue, 1...600).count == 100)
        #expect(try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    }
}
