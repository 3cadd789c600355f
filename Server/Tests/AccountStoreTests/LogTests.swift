import AccountStore
import Foundation
import Testing

@testable import SQLiteStore

@Suite("SQLite's write-ahead log")
struct LogTests {
    @Test("is copied seldom while that is fast, and more often again when it is not")
    func pace() {
        var pace = CheckpointPace()
        #expect(!pace.isDue(CheckpointPace.least - 1))
        #expect(pace.isDue(CheckpointPace.least))
        for _ in 0..<20 {
            let length = pace.limit
            pace.copied(length, in: .milliseconds(1))
            pace.committed(1)
        }
        #expect(pace.limit == CheckpointPace.most)
        #expect(!pace.isDue(CheckpointPace.most - 1))
        pace.copied(CheckpointPace.most, in: .milliseconds(60))
        #expect(pace.limit == CheckpointPace.most)
        for _ in 0..<20 { pace.copied(pace.limit, in: .seconds(1)) }
        pace.committed(1)
        #expect(pace.limit == CheckpointPace.least)
        #expect(pace.isDue(CheckpointPace.least))
    }

    @Test("is not copied with each commit while a reader keeps it from beginning again")
    func reader() {
        var pace = CheckpointPace()
        var copies = 0
        for length in stride(from: 0, to: 20_000, by: 10) {
            pace.committed(length)
            guard pace.isDue(length) else { continue }
            copies += 1
            pace.copied(length, in: .milliseconds(200))
        }
        #expect((15...20).contains(copies))
    }

    @Test("is copied under constant load, and loses nothing")
    func load() async throws {
        let database = try SQLiteDatabase()
        let log = database.path + "-wal"
        func size(_ path: String) throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        }
        let pageSize = 4096 + 24
        let account = try await database.use { store in
            let person = try await Person(store)
            let before = try size(database.path)
            var most = 0
            // A login changes some eight pages.
            for count in 1...2000 {
                #expect(try await person.logIn(signCount: UInt32(count)).session != nil)
                if count % 100 == 0 { most = max(most, try size(log) / pageSize) }
            }
            // Much of it was copied before the store is closed.
            #expect(try size(database.path) > before)
            #expect(most <= CheckpointPace.most + 100)
            return person.account.id
        }
        try await database.use { store in
            let last = try await store.auditPage(of: account, after: 2000, count: 10)
            #expect(!last.isEmpty)
        }
        await database.remove()
    }
}
