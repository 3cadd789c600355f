import AccountStore
import Foundation
import PostgreSQLStore
import SQLiteStore
import Testing

/// A database that is gone, full, read-only or slow: an error in bounded time, nothing half done, and everything goes on when it is back.
@Suite("When the database fails", .serialized)
struct FaultTests {
    private static let canMount = geteuid() == 0

    /// Its code, when it fails within a time that holds on a busy machine too.
    private func failure(
        _ limit: Duration = .seconds(20),
        _ body: () async throws(StoreError) -> Void
    ) async -> StoreError.Code? {
        let begin = ContinuousClock.now
        do throws(StoreError) {
            try await body()
            return nil
        } catch {
            #expect(ContinuousClock.now - begin < limit)
            return error.code
        }
    }

    private func mount(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/mount")
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test("SQLite's file is moved away: unavailable, no new file; moved back: it goes on")
    func moved() async throws {
        let database = try SQLiteDatabase()
        try await database.use { store in
            let person = try await Person(store)
            let away = database.directory.appending(path: "away")
            try FileManager.default.moveItem(atPath: database.path, toPath: away.path)
            #expect(
                await failure { () throws(StoreError) in try await store.checkReady(now: start) }
                    == .unavailable
            )
            await #expect(throws: StoreError(.unavailable)) { try await person.logIn() }
            #expect(!FileManager.default.fileExists(atPath: database.path))
            try FileManager.default.moveItem(atPath: away.path, toPath: database.path)
            try await store.checkReady(now: start)
            #expect(try await person.logIn().session != nil)
            #expect(try await person.audit().count == 3)
        }
        await database.remove()
    }

    @Test("another file in its place is taken up, when it is of this version")
    func restored() async throws {
        let database = try SQLiteDatabase()
        let other = try SQLiteDatabase()
        let account = Sample.account("restored")
        try await other.use {
            try await $0.createAccount(account, audit: Sample.event(.userCreated), now: start)
        }
        try await database.use { store in
            _ = try await Person(store)
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: database.path + suffix)
            }
            try FileManager.default.copyItem(atPath: other.path, toPath: database.path)
            try await store.checkReady(now: start)
            #expect(try await store.account(username: "restored") == account)
            #expect(try await store.account(username: "ada") == nil)
        }
        await database.remove()
        await other.remove()
    }

    @Test(
        "a full or read-only disk: the code says so, nothing is half done, and it goes on by itself",
        .enabled(if: canMount, "needs root")
    )
    func fullAndReadOnly() async throws {
        let parent = URL(filePath: "/tmp/ts-small-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        try mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", parent.path)
        defer {
            umount2(parent.path, CInt(MNT_DETACH))
            try? FileManager.default.removeItem(at: parent)
        }
        let database = try SQLiteDatabase(in: parent)
        try await database.use { store in
            let person = try await Person(store)
            let tokens = Sample.tokens()
            _ = try await person.logIn(tokens: tokens)
            let before = try await person.audit().count

            let ballast = parent.appending(path: "ballast")
            #expect(FileManager.default.createFile(atPath: ballast.path, contents: nil))
            let handle = try FileHandle(forWritingTo: ballast)
            while (try? handle.write(contentsOf: Data(count: 4096))) != nil {}
            try handle.close()
            var codes: Set<StoreError.Code?> = []
            for _ in 0..<30 {
                codes.insert(
                    await failure { () throws(StoreError) in try await store.checkReady(now: start) }
                )
            }
            let login: LoginOutcome? = try? await person.logIn()
            #expect(codes.contains(.full) && codes.subtracting([nil]) == [.full])
            #expect(login == nil)
            // What was there is still there, and can be read.
            #expect(try await store.liveSession(tokens.access, .access, now: start) != nil)
            #expect(try await person.audit().count == before)
            try FileManager.default.removeItem(at: ballast)
            try await store.checkReady(now: start)
            #expect(try await person.logIn().session != nil)

        }
        // A disk goes read-only under files that are open only by its own decision; here it is when the store is opened.
        try mount("-o", "remount,ro", parent.path)
        let code = await failure { () throws(StoreError) in
            let store = try await database.open()
            try await store.checkReady(now: start)
        }
        #expect(code == .readOnly || code == .unavailable)
        try mount("-o", "remount,rw", parent.path)
        try await database.use { try await $0.checkReady(now: start) }
    }

    @Test("SQLite held by somebody else: overloaded in bounded time, then it goes on")
    func held() async throws {
        let database = try SQLiteDatabase()
        let store = try await database.open(timeout: .seconds(2))
        let person = try await Person(store)
        let holder = try Holder(database.path)
        let code = await failure { () throws(StoreError) in try await store.checkReady(now: start) }
        #expect(code == .overloaded || code == .unavailable)
        #expect(try await store.account(username: "ada") == person.account)
        try holder.release()
        try await store.checkReady(now: start)
        #expect(try await person.logIn().session != nil)
        await store.close()
        await database.remove()
    }

    @Test(
        "PostgreSQL is stopped, started again, or killed: unavailable meanwhile, and nothing acknowledged is lost"
    )
    func restarted() async throws {
        let cluster = try PostgreSQLCluster([])
        let database = try await cluster.makeDatabase()
        let store = try await database.open(timeout: .seconds(3))
        let person = try await Person(store)
        let tokens = Sample.tokens()
        _ = try await person.logIn(tokens: tokens)
        // Slow: stopped in the middle of everything.
        let processes = try cluster.allProcesses()
        for process in processes { kill(process, SIGSTOP) }
        #expect(
            await failure { () throws(StoreError) in try await store.checkReady(now: start) } == .unavailable
        )
        for process in processes { kill(process, SIGCONT) }
        try await untilReady(store)
        #expect(try await person.audit().count == 3)
        // Gone, as after a crash, with what it had in memory.
        for signal in [SIGKILL, SIGQUIT, SIGINT] {
            try cluster.endServer(signal)
            #expect(
                await failure { () throws(StoreError) in try await store.checkReady(now: start) }
                    == .unavailable
            )
            await #expect(throws: StoreError(.unavailable)) { try await person.logIn() }
            try cluster.startAgain()
            try await untilReady(store)
            #expect(try await store.liveSession(tokens.access, .access, now: start) != nil)
            #expect(try await person.audit().count == 3)
        }
        #expect(try await person.logIn().session != nil)
        // Read-only, as a standby is.
        try cluster.psql(
            "ALTER DATABASE \(database.name) SET default_transaction_read_only = on",
            in: "postgres"
        )
        try cluster.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)'",
            in: "postgres"
        )
        #expect(
            await failure { () throws(StoreError) in try await store.checkReady(now: start) } == .readOnly
        )
        #expect(try await store.account(username: "ada") == person.account)
        try cluster.psql(
            "ALTER DATABASE \(database.name) RESET default_transaction_read_only",
            in: "postgres"
        )
        try cluster.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)'",
            in: "postgres"
        )
        try await untilReady(store)
        await store.close()
        cluster.stop()
    }

    /// Waits until a write works; how often it fails before is not promised.
    private func untilReady(_ store: any AccountStore) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                return try await store.checkReady(now: start)
            } catch {
                guard ContinuousClock.now < deadline else { throw error }
            }
        }
    }

    @Test("a store that is closed says so")
    func closed() async throws {
        for kind in StoreKind.allCases {
            let database = try await kind.makeDatabase()
            let store = try await database.open()
            await store.close()
            #expect(
                await failure { () throws(StoreError) in try await store.checkReady(now: start) }
                    == .unavailable
            )
            await #expect(throws: StoreError(.unavailable)) { try await store.account(username: "ada") }
            await database.remove()
        }
    }
}
