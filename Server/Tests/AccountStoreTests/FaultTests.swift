import AccountStore
import Foundation
import PostgreSQLStore
import SQLiteStore
import StoreTestKit
import Testing

/// Stores whose database is unreachable, full, read-only or slow.
///
/// They fail in bounded time, leave nothing half done, and work again when the database does.
@Suite("When the database fails", .serialized)
struct FaultTests {
    private static let canMount = geteuid() == 0

    /// The error's code; `body` must fail within `limit`, which is generous for a busy machine.
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

    @Test(
        "with its file moved away SQLite's store is unavailable and creates no file, then recovers"
    )
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

    @Test("another file in the old one's place is opened if its schema has the current version")
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
        "a full or read-only disk has its error code and leaves nothing half done; the store recovers",
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
            // Existing records can still be read.
            #expect(try await store.liveSession(tokens.access, .access, now: start) != nil)
            #expect(try await person.audit().count == before)
            try FileManager.default.removeItem(at: ballast)
            try await store.checkReady(now: start)
            #expect(try await person.logIn().session != nil)

        }
        // Only a failing disk turns read-only under open files; here the remount comes before the store is opened.
        try mount("-o", "remount,ro", parent.path)
        let code = await failure { () throws(StoreError) in
            let store = try await database.open()
            try await store.checkReady(now: start)
        }
        #expect(code == .readOnly || code == .unavailable)
        try mount("-o", "remount,rw", parent.path)
        try await database.use { try await $0.checkReady(now: start) }
    }

    @Test(
        "while another process holds SQLite's lock the store is overloaded in bounded time"
    )
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
        "PostgreSQL stopped, restarted or killed: unavailable meanwhile, and no acknowledged write is lost"
    )
    func restarted() async throws {
        let cluster = try PostgreSQLCluster([])
        let database = try await cluster.makeDatabase()
        let store = try await database.open(timeout: .seconds(3))
        let person = try await Person(store)
        let tokens = Sample.tokens()
        _ = try await person.logIn(tokens: tokens)
        // Slow: all processes stopped with SIGSTOP.
        let processes = try cluster.allProcesses()
        for process in processes { kill(process, SIGSTOP) }
        #expect(
            await failure { () throws(StoreError) in try await store.checkReady(now: start) } == .unavailable
        )
        for process in processes { kill(process, SIGCONT) }
        try await untilReady(store)
        #expect(try await onceAvailable { try await person.audit().count } == 3)
        // A crash: what was only in memory is lost.
        for signal in [SIGKILL, SIGQUIT, SIGINT] {
            try cluster.endServer(signal)
            #expect(
                await failure { () throws(StoreError) in try await store.checkReady(now: start) }
                    == .unavailable
            )
            await #expect(throws: StoreError(.unavailable)) { try await person.logIn() }
            try cluster.startAgain()
            try await untilReady(store)
            let session = try await onceAvailable {
                try await store.liveSession(tokens.access, .access, now: start)
            }
            #expect(session != nil)
            #expect(try await onceAvailable { try await person.audit().count } == 3)
        }
        #expect(try await onceAvailable { try await person.logIn().session } != nil)
        // Read-only, like a standby.
        try cluster.psql(
            "ALTER DATABASE \(database.name) SET default_transaction_read_only = on",
            in: "postgres"
        )
        try cluster.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)'",
            in: "postgres"
        )
        await #expect(throws: StoreError(.readOnly)) {
            try await onceAvailable { try await store.checkReady(now: start) }
        }
        #expect(try await onceAvailable { try await store.account(username: "ada") } == person.account)
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

    /// Waits until a write works, however often it fails first.
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

    /// What `body` does once the store is available: ended connections are noticed one after the other.
    private func onceAvailable<R>(_ body: () async throws -> R) async throws -> R {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                return try await body()
            } catch let error as StoreError where error.code == .unavailable {
                guard ContinuousClock.now < deadline else { throw error }
            }
        }
    }

    @Test("a closed store throws `unavailable`")
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
