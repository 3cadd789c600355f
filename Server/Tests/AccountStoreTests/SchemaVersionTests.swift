import AccountStore
import Foundation
import PostgreSQLStore
import SQLiteStore
import StoreTestKit
import Testing

@Suite("Schema versions and their migrations")
struct SchemaVersionTests {
    @Test("a database without tables or with a later schema is refused, with an error that names the remedy")
    func versions() async throws {
        let file = try SQLiteDatabase(migrated: false)
        #expect(throws: StoreError(.notMigrated)) { try SQLiteStore.open(.init(path: file.path)) }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (0, 6))
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (6, 6))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // A schema from before transactions were listed.
        for statement in Self.withoutLater + ["UPDATE schema_version SET version = 1"] {
            try SQLiteFile.run(statement, on: file.path)
        }
        #expect(throws: StoreError(.notMigrated)) { try SQLiteStore.open(.init(path: file.path)) }
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (1, 6))
        await (try SQLiteStore.open(.init(path: file.path))).close()
        try SQLiteFile.run("UPDATE schema_version SET version = 7", on: file.path)
        #expect(throws: StoreError(.newerSchema)) { try SQLiteStore.open(.init(path: file.path)) }
        #expect(throws: StoreError(.newerSchema)) { try SQLiteStore.migrate(.init(path: file.path)) }
        try Data("no database at all, but long enough to be read".utf8).write(
            to: URL(filePath: file.path + ".text")
        )
        #expect(throws: StoreError(.damaged)) { try SQLiteStore.open(.init(path: file.path + ".text")) }
        await file.remove()

        let cluster = try await PostgreSQLCluster.shared.value
        let database = try await cluster.makeDatabase(migrated: false)
        let configuration = PostgreSQLStore.Configuration(conninfo: database.conninfo)
        #expect(throws: StoreError(.notMigrated)) { try PostgreSQLStore.open(configuration) }
        #expect(try PostgreSQLStore.migrate(configuration) == (0, 6))
        #expect(try PostgreSQLStore.migrate(configuration) == (6, 6))
        try cluster.psql(
            (Self.withoutLater + ["UPDATE schema_version SET version = 1"]).joined(separator: "; "),
            in: database.name
        )
        #expect(throws: StoreError(.notMigrated)) { try PostgreSQLStore.open(configuration) }
        #expect(try PostgreSQLStore.migrate(configuration) == (1, 6))
        try cluster.psql("UPDATE schema_version SET version = 7", in: database.name)
        #expect(throws: StoreError(.newerSchema)) { try PostgreSQLStore.open(configuration) }
        #expect(throws: StoreError(.newerSchema)) { try PostgreSQLStore.migrate(configuration) }
        await database.remove()
        #expect(throws: StoreError(.unavailable)) { try PostgreSQLStore.open(configuration) }
    }

    private static let withoutKeys = "DROP TABLE token_keys"
    private static let withoutAudience = [
        withoutKeys,
        "ALTER TABLE access_tokens DROP COLUMN audience", "ALTER TABLE access_tokens DROP COLUMN scope",
    ]
    private static let withoutOpening = "ALTER TABLE ceremonies DROP COLUMN opened_at"
    /// The first version, but for SQLite's table of ceremonies.
    private static let withoutLater =
        ["DROP INDEX transactions_of_account", withoutOpening] + withoutAudience

    @Test("a ceremony that was open before SQLite's table of ceremonies changed can be consumed, once")
    func migratedCeremony() async throws {
        let file = try SQLiteDatabase()
        let ceremony = Sample.ceremony()
        try await file.use { _ = try await $0.openCeremony(ceremony, limits: [], now: start) }
        for statement in Self.withoutAudience + [
            "CREATE TABLE kept AS SELECT * FROM ceremonies",
            "DROP TABLE ceremonies",
            // As in version 2.
            """
            CREATE TABLE ceremonies (
                id BLOB NOT NULL PRIMARY KEY, purpose TEXT NOT NULL, account BLOB, session BLOB,
                options TEXT NOT NULL, expires_at INTEGER NOT NULL
            ) STRICT
            """,
            "INSERT INTO ceremonies SELECT id, purpose, account, session, options, expires_at FROM kept",
            "DROP TABLE kept",
            "UPDATE schema_version SET version = 2",
        ] { try SQLiteFile.run(statement, on: file.path) }
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (2, 6))
        try await file.use { store in
            let consumed = try await store.consumeCeremony(ceremony.id, presenting: nil, now: start)
            #expect(consumed?.ceremony.id == ceremony.id && consumed?.ceremony.options == ceremony.options)
            // As if it had been opened before everything else.
            #expect(consumed?.ceremony.openedAt == Timestamp(milliseconds: 0))
            #expect(try await store.consumeCeremony(ceremony.id, presenting: nil, now: start) == nil)
        }
        await file.remove()
    }

    @Test("an access token from before audiences opens the account's API, as it did")
    func migratedToken() async throws {
        let file = try SQLiteDatabase()
        let tokens = Sample.tokens()
        try await file.use { store in
            let person = try await Person(store)
            #expect(try await person.logIn(tokens: tokens).session != nil)
        }
        for statement in Self.withoutAudience + ["UPDATE schema_version SET version = 4"] {
            try SQLiteFile.run(statement, on: file.path)
        }
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (4, 6))
        try await file.use { store in
            let live = try #require(try await store.liveSession(tokens.access, .access, now: start))
            #expect(live.grant == nil)
        }
        await file.remove()
    }
}
