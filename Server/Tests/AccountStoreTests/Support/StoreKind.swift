import AccountStore
import Foundation
import SQLiteStore
import StoreTestKit

/// The databases that every test runs on.
enum StoreKind: String, CaseIterable {
    case sqlite
    case postgreSQL

    /// A new database, migrated and empty.
    func makeDatabase() async throws -> any TestDatabase {
        switch self {
        case .sqlite: try SQLiteDatabase()
        case .postgreSQL: try await PostgreSQLCluster.shared.value.makeDatabase()
        }
    }
}

/// A temporary database; `remove()` deletes it.
protocol TestDatabase: Sendable {
    /// Opens it once more, like another server process.
    func open(timeout: Duration) async throws(StoreError) -> any AccountStore
    /// The arguments with which `store-writer` opens it.
    var writerArguments: [String] { get }
    /// Runs statements of SQL, past the store.
    func run(_ statements: String) throws
    /// Brings it to this program's version.
    func migrate() throws -> (from: Int, to: Int)
    /// Deletes it.
    func remove() async
}

extension TestDatabase {
    func open() async throws(StoreError) -> any AccountStore { try await open(timeout: .seconds(30)) }

    /// Runs a body with a new store, and closes the store.
    func use<R>(_ body: (any AccountStore) async throws -> R) async throws -> R {
        let store = try await open()
        do {
            let result = try await body(store)
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }
}

struct SQLiteDatabase: TestDatabase {
    let directory: URL
    var path: String { directory.appending(path: "accounts.sqlite").path }

    init(in parent: URL = FileManager.default.temporaryDirectory, migrated: Bool = true) throws {
        directory = parent.appending(path: "store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if migrated { try SQLiteStore.migrate(.init(path: path)) }
    }

    func open(timeout: Duration) async throws(StoreError) -> any AccountStore {
        try SQLiteStore.open(.init(path: path, timeout: timeout))
    }

    var writerArguments: [String] { ["sqlite", path] }

    func run(_ statements: String) throws { try SQLiteFile.run(statements, on: path) }

    func migrate() throws -> (from: Int, to: Int) { try SQLiteStore.migrate(.init(path: path)) }

    func remove() async { try? FileManager.default.removeItem(at: directory) }
}

/// Runs a test's body with a new database and store.
func withStore<R>(
    _ kind: StoreKind,
    _ body: (any AccountStore, any TestDatabase) async throws -> R
) async throws -> R {
    let database = try await kind.makeDatabase()
    do {
        let result = try await database.use { try await body($0, database) }
        await database.remove()
        return result
    } catch {
        await database.remove()
        throw error
    }
}

func withStore<R>(_ kind: StoreKind, _ body: (any AccountStore) async throws -> R) async throws -> R {
    try await withStore(kind) { store, _ in try await body(store) }
}
