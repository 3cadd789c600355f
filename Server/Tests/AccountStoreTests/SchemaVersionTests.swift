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
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (0, 9))
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (9, 9))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // A schema from before transactions were listed.
        for statement in Self.withoutLater + ["UPDATE schema_version SET version = 1"] {
            try SQLiteFile.run(statement, on: file.path)
        }
        #expect(throws: StoreError(.notMigrated)) { try SQLiteStore.open(.init(path: file.path)) }
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (1, 9))
        await (try SQLiteStore.open(.init(path: file.path))).close()
        try SQLiteFile.run("UPDATE schema_version SET version = 10", on: file.path)
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
        #expect(try PostgreSQLStore.migrate(configuration) == (0, 9))
        #expect(try PostgreSQLStore.migrate(configuration) == (9, 9))
        try cluster.psql(
            (Self.withoutLater + ["UPDATE schema_version SET version = 1"]).joined(separator: "; "),
            in: database.name
        )
        #expect(throws: StoreError(.notMigrated)) { try PostgreSQLStore.open(configuration) }
        #expect(try PostgreSQLStore.migrate(configuration) == (1, 9))
        try cluster.psql("UPDATE schema_version SET version = 10", in: database.name)
        #expect(throws: StoreError(.newerSchema)) { try PostgreSQLStore.open(configuration) }
        #expect(throws: StoreError(.newerSchema)) { try PostgreSQLStore.migrate(configuration) }
        await database.remove()
        #expect(throws: StoreError(.unavailable)) { try PostgreSQLStore.open(configuration) }
    }

    private static let withoutAssurance = [
        "ALTER TABLE credentials DROP COLUMN statement", "ALTER TABLE credentials DROP COLUMN consent",
        "ALTER TABLE sessions DROP COLUMN assurance", "DROP TABLE attested_keys",
    ]
    private static let withoutRoles =
        withoutAssurance + ["ALTER TABLE admin_tokens DROP COLUMN role", "DROP TABLE notices"]
    private static let withoutRecovery =
        withoutRoles + [
            "DROP TABLE recovery_codes", "DROP TABLE account_links", "ALTER TABLE sessions DROP COLUMN task",
            "ALTER TABLE accounts DROP COLUMN password_must_change",
        ]
    private static let withoutKeys = "DROP TABLE token_keys"
    private static let withoutAudience =
        withoutRecovery + [
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
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (2, 9))
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
        #expect(try SQLiteStore.migrate(.init(path: file.path)) == (4, 9))
        try await file.use { store in
            let live = try #require(try await store.liveSession(tokens.access, .access, now: start))
            #expect(live.grant == nil)
        }
        await file.remove()
    }

    @Test(
        "sessions and passwords from before limited sessions are whole, and links can be made",
        arguments: StoreKind.allCases
    )
    func migratedSession(_ kind: StoreKind) async throws {
        let database = try await kind.makeDatabase()
        let tokens = Sample.tokens()
        let person = try await database.use { store in
            let person = try await Person(store)
            #expect(try await person.logIn(tokens: tokens).session != nil)
            return person.account
        }
        try database.run(
            (Self.withoutRecovery + ["UPDATE schema_version SET version = 6"]).joined(separator: "; ")
        )
        await #expect(throws: StoreError(.notMigrated)) { _ = try await database.open() }
        #expect(try database.migrate() == (6, 9))
        try await database.use { store in
            let live = try #require(try await store.liveSession(tokens.access, .access, now: start))
            #expect(live.session.task == nil && live.account == person)
            let link = Sample.link(person, .enrolment)
            #expect(try await store.issue(link, audit: Sample.event(.linkIssued), now: start) == .issued)
            #expect(try await store.recoveryCodes(of: person.id).left == 0)
        }
        await database.remove()
    }

    @Test("administrators from before roles may do everything", arguments: StoreKind.allCases)
    func migratedAdmin(_ kind: StoreKind) async throws {
        let database = try await kind.makeDatabase()
        let admin = AdminToken(digest: Sample.digest(), name: "root", createdAt: start)
        try await database.use { store in
            try await store.addAdminToken(admin, audit: Sample.event(.administration), now: start)
        }
        try database.run(
            (Self.withoutRoles + ["UPDATE schema_version SET version = 7"]).joined(separator: "; ")
        )
        await #expect(throws: StoreError(.notMigrated)) { _ = try await database.open() }
        #expect(try database.migrate() == (7, 9))
        try await database.use { store in
            let found = try await store.adminToken(admin.digest, now: start)
            #expect(found?.role == .all)
            let offer = try await store.offerFirstAdmin(Sample.digest(), expiresAt: start, now: start)
            #expect(offer == .alreadyThere)
        }
        await database.remove()
    }

    @Test(
        "without an administrator who may do everything one is offered again",
        arguments: StoreKind.allCases
    )
    func lastAdmin(_ kind: StoreKind) async throws {
        let database = try await kind.makeDatabase()
        try await database.use { store in
            for role in AdminRole.allCases {
                let admin = AdminToken(
                    digest: Sample.digest(),
                    name: role.rawValue,
                    role: role,
                    createdAt: start
                )
                let before = try await store.offerFirstAdmin(
                    Sample.digest(),
                    expiresAt: start,
                    now: start
                )
                #expect(before == .offered)
                try await store.addAdminToken(admin, audit: Sample.event(.administration), now: start)
                let found = try await store.adminToken(admin.digest, now: start)
                #expect(found == admin)
            }
            let offer = try await store.offerFirstAdmin(Sample.digest(), expiresAt: start, now: start)
            #expect(offer == .alreadyThere)
            let roles = try await store.adminTokens().map(\.role).sorted()
            #expect(roles == AdminRole.allCases)
        }
        await database.remove()
    }
}
