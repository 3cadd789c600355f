import Foundation
import PostgreSQLStore
import StoreTestKit

@testable import TouchstoneServer

/// The databases of a server.
enum ServerDatabase: String, CaseIterable {
    case sqlite
    case postgreSQL
}

extension TestServer {
    /// Runs a server on a new database of a kind for `body`.
    static func with(
        on database: ServerDatabase,
        _ configure: (inout ServerConfiguration) throws -> Void = { _ in },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        guard database == .postgreSQL else { return try await with(configure, body) }
        try await with(on: PostgreSQLCluster.shared.value, configure, body)
    }

    /// Runs a server on a new database of this PostgreSQL server for `body`.
    static func with(
        on cluster: PostgreSQLCluster,
        _ configure: (inout ServerConfiguration) throws -> Void = { _ in },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let name = try cluster.makeName()
        defer { _ = try? cluster.psql("DROP DATABASE \(name) WITH (FORCE)", in: "postgres") }
        try PostgreSQLStore.migrate(.init(conninfo: cluster.address(of: name)))
        try await with(
            {
                $0.database = cluster.address(of: name)
                try configure(&$0)
            },
            body
        )
    }
}
