import NIOHTTP1
import StoreTestKit
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Positions in the audit")
    struct AuditPositionTests {
        @Test(
            "the audit is read to its end after any number of PostgreSQL's transactions",
            arguments: [0, 2, 3, 1024]
        )
        func positions(_ epoch: Int) async throws {
            // Transactions are numbered with 64 bits; the epoch is the upper half.
            let cluster = try PostgreSQLCluster()
            defer { cluster.stop() }
            try cluster.stopServer()
            try cluster.setEpoch(epoch)
            try cluster.startAgain()
            try await TestServer.with(on: cluster) { server in
                _ = try await TestUser.signedIn(on: server)
                var cursor = "0"
                var records: [JSONValue] = []
                while true {
                    let page = try await server.admin(.GET, "/audit?count=2&after=\(cursor)")
                    #expect(page.status == 200, "\(page.text)")
                    guard let part = page["records"]?.array, !part.isEmpty else { break }
                    records += part
                    cursor = try #require(page["next"]?.string)
                    #expect(part.last?["position"]?.string == cursor)
                }
                let events = records.compactMap { $0["event"]?.string }
                #expect(events.contains("authn_login_success"))
                let positions = records.compactMap { $0["position"]?.string.flatMap { Int64($0) } }
                #expect(positions.count == records.count && positions == positions.sorted())
                #expect((positions.first ?? 0) >> 52 == Int64(epoch))
            }
        }
    }
}
