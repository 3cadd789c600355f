import AccountStore
import StoreTestKit
import Testing

@Suite("Notices that wait for the mail hook")
struct NoticeTests {
    private func event(_ name: AuditEvent.Name, link: String? = nil) -> AuditEvent {
        var event = Sample.event(name)
        event.notice = NoticeRequest(expiresAt: start + Notice.lifetime, byAdministrator: false, link: link)
        return event
    }

    @Test(
        "an event that happened leaves one notice, with the names of then; one that was refused leaves none",
        arguments: StoreKind.allCases
    )
    func transaction(_ kind: StoreKind) async throws {
        let database = try await kind.makeDatabase()
        try await database.use { store in
            let account = Sample.account()
            try await store.createAccount(account, audit: event(.userCreated), now: start)
            // The name is taken.
            await #expect(throws: StoreError(.conflict(.usernameTaken))) {
                try await store.createAccount(Sample.account(), audit: event(.userCreated), now: start)
            }
            // Nobody asked for a notice, and this event has none.
            try await store.setLocked(true, account: account.id, audit: Sample.event(.loginLock), now: start)
            try await store.record([event(.loginFail)], now: start)
            // A locked account gets no link.
            let link = Sample.link(account, .enrolment)
            let issue = try await store.issue(
                link,
                audit: event(.linkIssued, link: "https://x/#1"),
                now: start
            )
            #expect(issue == .accountLocked)
            try await store.deleteAccount(account.id, audit: event(.userDeleted), now: start + .seconds(1))
            let now = start + .seconds(2)
            let notices = try await store.takeNotices(count: 10, until: now + .seconds(60), now: now)
            #expect(notices.map(\.event) == [.userCreated, .userDeleted])
            for notice in notices {
                #expect(notice.account == account.id && notice.username == "ada" && notice.link == nil)
                #expect(notice.displayName == account.displayName && notice.attempts == 1)
                #expect(notice.expiresAt == start + Notice.lifetime && notice.id.count == 16)
            }
            #expect(notices.first?.time == start)
        }
        await database.remove()
    }

    @Test(
        "of several servers one at a time has a notice, until it is done or its time is over",
        arguments: StoreKind.allCases
    )
    func taking(_ kind: StoreKind) async throws {
        let database = try await kind.makeDatabase()
        try await database.use { store in
            let account = Sample.account()
            try await store.createAccount(account, audit: event(.userCreated), now: start)
            for _ in 0..<7 {
                try await store.setLocked(false, account: account.id, audit: event(.loginLock), now: start)
            }
            let lease = start + .seconds(60)
            let stores = [store, try await database.open(), try await database.open()]
            let taken = try await withThrowingTaskGroup(of: [Notice].self) { group in
                for number in 0..<12 {
                    let store = stores[number % 3]
                    group.addTask { try await store.takeNotices(count: 3, until: lease, now: start) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(taken.count == 8 && Set(taken.map(\.id)).count == 8)
            for other in stores.dropFirst() { await other.close() }
            let first = try #require(taken.first)
            let second = try #require(taken.last)
            try await store.removeNotice(first.id)
            try await store.removeNotice(first.id)
            try await store.postponeNotice(second.id, until: start + .seconds(30))
            var early = try await store.takeNotices(
                count: 10,
                until: start + .seconds(90),
                now: start + .seconds(29)
            )
            #expect(early.isEmpty)
            early = try await store.takeNotices(
                count: 10,
                until: start + .seconds(90),
                now: start + .seconds(30)
            )
            #expect(early.map(\.id) == [second.id] && early.first?.attempts == 2)
            // The server that had them is gone.
            let late = try await store.takeNotices(count: 10, until: start + .seconds(120), now: lease)
            #expect(late.count == 6 && late.allSatisfy { $0.attempts == 2 })
        }
        await database.remove()
    }

    @Test("what nobody delivers is removed a day after it expired", arguments: StoreKind.allCases)
    func purge(_ kind: StoreKind) async throws {
        let database = try await kind.makeDatabase()
        try await database.use { store in
            try await store.createAccount(Sample.account(), audit: event(.userCreated), now: start)
            let expiry = start + Notice.lifetime
            for (now, count) in [(expiry, 1), (expiry + Notice.lifetime, 0)] {
                var cursor: PurgeCursor?
                var isDone = false
                while !isDone {
                    cursor = try await store.purge(from: cursor, PurgeSettings(), now: now).next
                    isDone = cursor == nil
                }
                let left = try await store.takeNotices(count: 10, until: now, now: now)
                #expect(left.count == count)
            }
        }
        await database.remove()
    }
}
