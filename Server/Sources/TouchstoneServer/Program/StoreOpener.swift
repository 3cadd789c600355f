internal import AccountStore
internal import Foundation
internal import PostgreSQLStore
internal import SQLiteStore

/// Opens the configured store.
enum StoreOpener {
    /// Opens the store; a missing SQLite file is created.
    ///
    /// - Throws: ``StartError``.
    static func open(_ configuration: ServerConfiguration) throws(StartError) -> any AccountStore {
        try makeDirectory(configuration)
        let address = configuration.databaseAddress
        do throws(StoreError) {
            guard isFile(address) else { return try PostgreSQLStore.open(.init(conninfo: address)) }
            if !FileManager.default.fileExists(atPath: address) {
                _ = try SQLiteStore.migrate(.init(path: address))
            }
            return try SQLiteStore.open(.init(path: address))
        } catch {
            throw failure(error, configuration)
        }
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

    private static func failure(_ error: StoreError, _ configuration: ServerConfiguration) -> StartError {
        let hint =
            switch error.code {
            case .notMigrated: " (run touchstone-server migrate)"
            case .newerSchema: " (a later version of this program made it: install that one)"
            default: ""
            }
        return StartError(.store, "\(configuration.databaseName): \(error)\(hint)")
    }
}
