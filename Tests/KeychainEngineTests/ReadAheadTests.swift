import Foundation
import GRDB
import Testing

@testable import KeychainEngine

@Suite("Reading ahead in the file of items")
struct ReadAheadTests {
    private let path = FileManager.default.temporaryDirectory.path + "/touchstone-" + UUID().uuidString

    /// A file of pages with two rows each, and nothing of it in SQLite's own memory.
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

    @Test("gives every row, to the last page")
    func wholeFile() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let queue = try open()
        #expect(try words(queue, 1...600) == Array(repeating: "first", count: 600))
        #expect(try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    }

    @Test("gives what was written since", arguments: [5...7, 10...20, 1...600])
    func written(_ changed: ClosedRange<Int>) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let queue = try open()
        // The root and its first leaves are at hand now, and are looked at first again.
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

    @Test("gives nothing that was cut off")
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
