import AccountStore
import Foundation
import StoreTestKit

@testable import TouchstoneServer

/// A running server whose audit has heads in a file, and whose database is changed past it.
struct AuditedServer {
    let server: TestServer
    let file: AuditHeadFile
    private let run: (String) throws -> Void

    /// Runs a server on a new database of a kind, with a user who signed in; heads are appended by ``append(after:)`` alone.
    static func with(
        on database: ServerDatabase,
        _ configure: (inout ServerConfiguration) throws -> Void = { _ in },
        _ body: (AuditedServer) async throws -> Void
    ) async throws {
        try await TestServer.with(on: database, configure) { server in
            _ = try await TestUser.signedIn(on: server)
            let address = server.configuration.databaseAddress
            let cluster = try await PostgreSQLCluster.shared.value
            try await body(
                AuditedServer(
                    server: server,
                    file: AuditHeadFile(path: "\(server.configuration.dataDirectory)/heads"),
                    run: { statements in
                        switch database {
                        case .sqlite: try SQLiteFile.run(statements, on: address)
                        case .postgreSQL:
                            let name = address.split(separator: "/").last.map {
                                String($0.prefix { $0 != "?" })
                            }
                            try cluster.psql(statements, in: name ?? "")
                        }
                    }
                )
            )
        }
    }

    /// Appends the heads of all events that have none, as the server's service does at each interval.
    @discardableResult
    func append(after known: AuditHead? = nil) async throws -> AuditHead? {
        let store = server.program.store
        // Transactions in progress on the same PostgreSQL server hold events back.
        let all = try await store.auditPage(from: .start, count: 10_000).count
        while try await store.auditPage(after: 0, count: 10_000).count < all {}
        return try await AuditHeadService.append(to: file, after: known, server.program.current.value)
    }

    /// Changes the database past the server.
    func change(_ statements: String) throws { try run(statements) }

    /// What `verify-audit` finds, with settings of the server's that are changed by `configure`.
    func verify(
        head: String? = nil,
        _ configure: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> String {
        var configuration = server.configuration
        configure(&configuration)
        return try await ServerProgram.verifyAudit(configuration, head: head)
    }

    /// The lines of the file.
    func lines() throws -> [String] {
        try String(contentsOfFile: file.path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Puts other lines in their place.
    func write(_ lines: [String]) throws {
        try Data(lines.map { "\($0)\n" }.joined().utf8).write(to: URL(filePath: file.path))
    }
}
