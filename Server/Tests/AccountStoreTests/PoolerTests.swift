import AccountStore
import Foundation
import PostgreSQLStore
import StoreTestKit
import Synchronization
import Testing

@Suite("Behind a pooler of PostgreSQL's connections")
struct PoolerTests {
    /// What stores said for the log.
    private final class Notices: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    /// Runs two stores, like two servers, on a new database behind a pooler.
    private func withStores(
        _ mode: PgBouncer.Mode,
        size: Int,
        _ body: ([any AccountStore], Notices) async throws -> Void
    ) async throws {
        let cluster = try await PostgreSQLCluster.shared.value
        let pooler = try PgBouncer(cluster, mode, size: size)
        defer { pooler.stop() }
        let database = try await cluster.makeDatabase(migrated: false)
        let conninfo = pooler.conninfo(database.name)
        // Twice: the second finds the connections of the first.
        #expect(try PostgreSQLStore.migrate(.init(conninfo: conninfo)).from == 0)
        let found = try PostgreSQLStore.migrate(.init(conninfo: conninfo))
        #expect(found.from == found.to)
        let notices = Notices()
        var stores: [any AccountStore] = []
        for _ in 0..<2 {
            stores.append(
                try PostgreSQLStore.open(
                    .init(conninfo: conninfo, timeout: .seconds(60), notice: { notices.add($0) })
                )
            )
        }
        do { try await body(stores, notices) } catch {
            for store in stores { await store.close() }
            throw error
        }
        for store in stores { await store.close() }
        await database.remove()
    }

    @Test(
        "sign-ins, refreshes and readings of two servers succeed, and nothing is lost or done twice",
        arguments: [(PgBouncer.Mode.transaction, 2), (.transaction, 5), (.session, 40)]
    )
    func work(_ mode: PgBouncer.Mode, _ size: Int) async throws {
        try await withStores(mode, size: size) { stores, notices in
            let rounds = 12
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let store = stores[number % 2]
                        let other = stores[(number + 1) % 2]
                        let person = try await Person(store, "user-\(number)")
                        for round in 1...rounds {
                            let tokens = Sample.tokens()
                            let login = try await person.logIn(signCount: UInt32(round), tokens: tokens)
                            #expect(login.session != nil)
                            let live = try await other.liveSession(tokens.access, .access, now: start)
                            #expect(live?.account == person.account)
                            guard case .renewed = try await person.refresh(tokens.refresh) else {
                                Issue.record("not refreshed")
                                continue
                            }
                        }
                        let records = try await other.auditPage(of: person.account.id, after: 0, count: 1000)
                        #expect(AuditChain.fault(in: records) == nil)
                        #expect(
                            records.filter { $0.event.name == Sample.event().name }.count == rounds,
                            "\(records.count)"
                        )
                    }
                }
                try await group.waitForAll()
            }
            switch mode {
            // Once in each server.
            case .transaction:
                #expect(notices.all.count == 2, "\(notices.all)")
                #expect(notices.all.allSatisfy { $0.contains("pooler in transaction mode") })
            case .session: #expect(notices.all.isEmpty, "\(notices.all)")
            }
        }
    }
}
