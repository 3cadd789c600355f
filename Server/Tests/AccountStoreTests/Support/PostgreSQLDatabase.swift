import AccountStore
import Foundation
import PostgreSQLStore
import StoreTestKit

extension PostgreSQLCluster {
    func makeDatabase(migrated: Bool = true) async throws -> PostgreSQLDatabase {
        let database = PostgreSQLDatabase(cluster: self, name: try makeName())
        if migrated { try PostgreSQLStore.migrate(.init(conninfo: database.conninfo)) }
        return database
    }
}

struct PostgreSQLDatabase: TestDatabase {
    let cluster: PostgreSQLCluster
    let name: String

    var conninfo: String { "host=\(cluster.directory.path) user=touchstone dbname=\(name)" }

    func open(timeout: Duration) async throws(StoreError) -> any AccountStore {
        try PostgreSQLStore.open(.init(conninfo: conninfo, timeout: timeout))
    }

    var writerArguments: [String] { ["postgresql", conninfo] }

    func run(_ statements: String) throws { try cluster.psql(statements, in: name) }

    func migrate() throws -> (from: Int, to: Int) { try PostgreSQLStore.migrate(.init(conninfo: conninfo)) }

    func remove() async { _ = try? cluster.psql("DROP DATABASE \(name) WITH (FORCE)", in: "postgres") }
}
