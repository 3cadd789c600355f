internal import AccountStore
internal import Foundation
internal import SQLiteStore

/// Opens the store that a configuration names.
enum StoreOpener {
    /// Opens it; a SQLite file that is not there is made.
    ///
    /// - Throws: ``StartError``.
    static func open(_ configuration: ServerConfiguration) throws(StartError) -> any AccountStore {
        try makeDirectory(configuration)
        let path = try sqlitePath(configuration)
        do throws(StoreError) {
            if !FileManager.default.fileExists(atPath: path) { _ = try SQLiteStore.migrate(.init(path: path)) }
            return try SQLiteStore.open(.init(path: path))
        } catch {
            throw failure(error, configuration)
        }
    }

    /// Brings the schema up to date, and makes it where there is none.
    static func migrate(_ configuration: ServerConfiguration) throws(StartError) -> (from: Int, to: Int) {
        try makeDirectory(configuration)
        let path = try sqlitePath(configuration)
        do throws(StoreError) {
            return try SQLiteStore.migrate(.init(path: path))
        } catch {
            throw failure(error, configuration)
        }
    }

    private static func sqlitePath(_ configuration: ServerConfiguration) throws(StartError) -> String {
        let address = configuration.databaseAddress
        guard address.hasPrefix("/") else {
            throw StartError(.configuration, "this program was built without PostgreSQL")
        }
        return address
    }

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
        return StartError(.store, "\(configuration.databaseAddress): \(error)\(hint)")
    }
}
