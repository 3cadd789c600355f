internal import AccountStore
internal import Foundation
internal import Logging
internal import PostgreSQLStore
internal import SQLiteStore
internal import Synchronization

/// Opens the configured store.
enum StoreOpener {
    /// Opens the store; a missing SQLite file is created.
    ///
    /// - Throws: ``StartError``.
    static func open(_ configuration: ServerConfiguration, _ logger: Logger) throws(StartError)
        -> any AccountStore
    {
        try makeDirectory(configuration)
        let address = configuration.databaseAddress
        do throws(StoreError) {
            if isFile(address), !FileManager.default.fileExists(atPath: address) {
                _ = try SQLiteStore.migrate(.init(path: address))
            }
            return try openExisting(address) { logger.warning("\(configuration.databaseName): \($0)") }
        } catch {
            throw failure(error, configuration)
        }
    }

    /// Opens the store, writes to it and closes it again; a missing SQLite file is not created.
    ///
    /// - Returns: what was found, in words.
    /// - Throws: ``StartError``.
    static func check(_ configuration: ServerConfiguration) async throws(StartError) -> String {
        let address = configuration.databaseAddress
        if isFile(address), !FileManager.default.fileExists(atPath: address) {
            return "does not exist yet; serve and migrate create it"
        }
        var notices: [String] = []
        do throws(StoreError) {
            let found = Notices()
            let store = try openExisting(address) { found.add($0) }
            let administrators: Result<String, StoreError>
            do throws(StoreError) {
                try await store.checkReady(now: .now)
                administrators = .success(AdminRole.counts(try await store.adminTokens(), at: .now))
            } catch {
                administrators = .failure(error)
            }
            await store.close()
            notices = found.all + [try administrators.get()]
        } catch {
            throw failure(error, configuration)
        }
        return (["can be used"] + notices).joined(separator: "; ")
    }

    /// Opens the store; a missing SQLite file is not created.
    ///
    /// - Throws: ``StartError``.
    static func openThatExists(_ configuration: ServerConfiguration) throws(StartError) -> any AccountStore {
        let address = configuration.databaseAddress
        guard !isFile(address) || FileManager.default.fileExists(atPath: address) else {
            throw StartError(.store, "\(address) does not exist: name the database by the setting database")
        }
        do throws(StoreError) { return try openExisting(address) { _ in } } catch {
            throw failure(error, configuration)
        }
    }

    /// What a store says for the log.
    private final class Notices: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    private static func openExisting(
        _ address: String,
        notice: @escaping @Sendable (String) -> Void
    ) throws(StoreError) -> any AccountStore {
        try isFile(address)
            ? SQLiteStore.open(.init(path: address))
            : PostgreSQLStore.open(.init(conninfo: address, notice: notice))
    }

    /// Migrates the schema to the current version, creating it if necessary.
    static func migrate(_ configuration: ServerConfiguration) throws(StartError) -> (from: Int, to: Int) {
        try makeDirectory(configuration)
        let address = configuration.databaseAddress
        do throws(StoreError) {
            return isFile(address)
                ? try SQLiteStore.migrate(.init(path: address))
                : try PostgreSQLStore.migrate(.init(conninfo: address))
        } catch {
            throw failure(error, configuration)
        }
    }

    /// Whether the address is a file; any other address is a connection string for libpq.
    static func isFile(_ address: String) -> Bool { address.hasPrefix("/") }

    private static func makeDirectory(_ configuration: ServerConfiguration) throws(StartError) {
        do {
            try FileManager.default.createDirectory(
                atPath: configuration.dataDirectory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw StartError(.configuration, "\(configuration.dataDirectory) cannot be made: \(error)")
        }
    }

    /// The error of a store with its remedy.
    static func failure(_ error: StoreError, _ configuration: ServerConfiguration) -> StartError {
        let hint =
            switch error.code {
            case .notMigrated: " (run touchstone-server migrate)"
            case .newerSchema: " (a later version of this program made it: install that one)"
            default: ""
            }
        return StartError(.store, "\(configuration.databaseName): \(error)\(hint)")
    }
}

extension AdminRole {
    /// How many of the tokens that are valid at a time have each role, in words.
    fileprivate static func counts(_ tokens: [AdminToken], at now: Timestamp) -> String {
        let valid = tokens.filter { $0.expiresAt.map { $0 > now } ?? true }
        let counts = allCases.reversed().map { role in
            "\(role.rawValue) \(valid.count { $0.role == role })"
        }
        return "administrators' tokens: \(counts.joined(separator: ", "))"
    }
}
