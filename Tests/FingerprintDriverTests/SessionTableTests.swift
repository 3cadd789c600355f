import FingerprintDriver
import Testing

@Suite("The login sessions of a user")
struct SessionTableTests {
    private func table(_ sessions: [String: SessionTable.Session]) -> SessionTable {
        var table = SessionTable()
        for (path, session) in sessions {
            table.request(path)
            _ = table.receive(path, session)
        }
        return table
    }

    private static let screen = SessionTable.Session(hasScreen: true)
    private static let console = SessionTable.Session(hasScreen: false)

    @Test("the only screen's lock is a departure, once, and again after it was unlocked")
    func oneScreen() {
        var table = table(["a": Self.screen])
        #expect(table.announce("a", .init(isLocked: true)) == .screenLocked)
        #expect(table.announce("a", .init(isLocked: true)) == nil)
        #expect(table.announce("a", .init(isLocked: false)) == nil)
        #expect(table.announce("a", .init(isLocked: true)) == .screenLocked)
    }

    @Test("of two screens the last unlocked one counts, and the end of it as much as its lock")
    func twoScreens() {
        var table = table(["a": Self.screen, "b": Self.screen])
        #expect(table.announce("a", .init(isLocked: true)) == nil)
        #expect(table.announce("b", .init(isLocked: true)) == .screenLocked)
        #expect(table.announce("a", .init(isLocked: false)) == nil)
        #expect(table.remove("a") == .sessionEnded)
        #expect(table.remove("b") == nil)
    }

    @Test("a console keeps nothing open beside a screen, and counts by itself")
    func console() {
        var table = table(["a": Self.screen, "ssh": Self.console])
        #expect(table.announce("a", .init(isLocked: true)) == .screenLocked)
        #expect(table.announce("a", .init(isLocked: false)) == nil)
        #expect(table.remove("a") == .sessionEnded)
        #expect(table.remove("ssh") == .sessionEnded)
        var consoles = self.table(["1": Self.console, "2": Self.console])
        #expect(consoles.remove("1") == nil)
        #expect(consoles.remove("2") == .sessionEnded)
    }

    @Test("a request to lock counts each time if no other screen is unlocked, also without a hint")
    func requests() {
        var table = table(["a": Self.screen, "b": Self.screen])
        #expect(table.lock("a") == nil)
        _ = table.announce("b", .init(isLocked: true))
        #expect(table.lock("a") == .screenLocked)
        #expect(table.lock("a") == .screenLocked)
        #expect(table.lock("another user's") == nil)
    }

    @Test("a hint that arrives before the reply wins, and a session that ended meanwhile is not added")
    func races() {
        var table = table(["a": Self.screen])
        table.request("b")
        #expect(table.announce("b", .init(isLocked: true)) == nil)
        #expect(table.receive("b", Self.screen) == nil)
        #expect(table.announce("a", .init(isLocked: true)) == .screenLocked)

        table.request("c")
        #expect(table.remove("c") == nil)
        #expect(table.receive("c", Self.screen) == nil)
        #expect(table.lock("c") == nil)
    }

    @Test("a new session is no departure, and neither is the start with a locked one")
    func start() {
        var table = SessionTable()
        #expect(table.keep(["a"]) == nil)
        table.request("a")
        #expect(table.receive("a", .init(hasScreen: true, isLocked: true)) == nil)
        table.request("b")
        #expect(table.receive("b", nil) == nil)
        #expect(table.announce("b", .init(isLocked: true)) == nil)
    }

    @Test("what was missed is a departure: a lock that is read again, and sessions that are gone")
    func missed() {
        var table = table(["a": Self.screen, "b": Self.screen])
        #expect(table.keep(["a"]) == nil)
        table.request("a")
        #expect(table.receive("a", .init(hasScreen: true, isLocked: true)) == .screenLocked)
        _ = table.announce("a", .init(isLocked: false))
        #expect(table.keep([]) == .sessionEnded)
    }

    // MARK: Seats

    private static let active = SessionTable.Session(hasScreen: true, login: 7)
    private static let behind = SessionTable.Session(hasScreen: true, isActive: false, login: 7)
    private static let remote = SessionTable.Session(hasScreen: false, hasSeat: false, login: 7)
    private static let closing = SessionTable.Session(
        hasScreen: false,
        isActive: false,
        isClosing: true,
        login: 7
    )

    private static func other(_ session: SessionTable.Session) -> SessionTable.Session {
        var session = session
        session.login = 8
        return session
    }

    struct Seats: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sessions: [SessionTable.Session]
        /// Whether login 7 is away, and one that is unknown or has no session.
        let isAway: (own: Bool, unknown: Bool)

        init(_ name: String, _ sessions: [SessionTable.Session], own: Bool, unknown: Bool) {
            (testDescription, self.sessions, isAway) = (name, sessions, (own, unknown))
        }
    }

    @Test(
        "a login is away if its session is not active on its seat; an unknown one if none can be in front",
        arguments: [
            Seats("no session", [], own: false, unknown: false),
            Seats("active", [active], own: false, unknown: false),
            Seats("not active", [behind], own: true, unknown: true),
            Seats("without a seat", [remote], own: false, unknown: false),
            Seats("closing", [closing], own: false, unknown: false),
            Seats("not active, beside an active one", [behind, other(active)], own: true, unknown: false),
            Seats("active, beside one that is not", [active, other(behind)], own: false, unknown: false),
            Seats("two that are not active", [behind, other(behind)], own: true, unknown: true),
            Seats("not active, beside ssh", [behind, other(remote)], own: true, unknown: false),
            Seats("ssh, beside one that is not active", [remote, other(behind)], own: false, unknown: false),
            Seats(
                "closing, beside one that is not active",
                [closing, other(behind)],
                own: true,
                unknown: true
            ),
            Seats("closing, beside an active one", [closing, other(active)], own: false, unknown: false),
            Seats("closing, beside ssh", [closing, other(remote)], own: false, unknown: false),
            Seats("another login is not active", [other(behind)], own: true, unknown: true),
            Seats("one login, two sessions", [active, behind], own: false, unknown: false),
            Seats("one login, two that are not active", [behind, behind], own: true, unknown: true),
        ]
    )
    func seats(_ example: Seats) {
        let paths = example.sessions.indices.map { "\($0)" }
        let table = table(Dictionary(uniqueKeysWithValues: zip(paths, example.sessions)))
        #expect(table.isAway(7) == example.isAway.own)
        #expect(table.isAway(nil) == example.isAway.unknown)
        #expect(table.isAway(9) == example.isAway.unknown)
    }

    @Test("a switch is announced; one that arrives before the reply wins; what is not mentioned stays")
    func switches() {
        var table = table(["a": Self.active])
        #expect(table.announce("a", .init(isActive: false)) == nil)
        #expect(table.isAway(7))
        #expect(table.announce("a", .init(isLocked: true)) == .screenLocked)
        #expect(table.isAway(7))
        #expect(table.announce("a", .init(isLocked: false, isActive: true)) == nil)
        #expect(!table.isAway(7))

        table.request("a")
        _ = table.announce("a", .init(isActive: false))
        _ = table.announce("a", .init(isLocked: true))
        #expect(table.receive("a", Self.active) == nil)
        #expect(table.isAway(7))

        table.request("b")
        _ = table.announce("b", .init(isActive: true))
        _ = table.announce("b", .init(isActive: false))
        _ = table.receive("b", Self.other(Self.active))
        #expect(table.isAway(8))
        _ = table.announce("of another user", .init(isActive: false))
        #expect(table.isAway(nil))
    }

    @Test("what could not be read again stays, and the next announcement counts")
    func abandoned() {
        var table = table(["a": Self.behind])
        table.request("a")
        _ = table.announce("a", .init(isActive: true))
        table.abandon("a")
        #expect(!table.isAway(7))
        #expect(table.receive("a", Self.behind) == nil)
        #expect(!table.isAway(7))
        table.request("gone")
        table.abandon("gone")
        #expect(table.keep([]) == .sessionEnded)
    }

    @Test(
        "a desktop that announces locked screens is one that did so once, or was locked when it was first seen"
    )
    func announcing() {
        var table = table(["a": Self.screen])
        #expect(!table.hasHeardLock)
        _ = table.announce("a", .init(isLocked: false, isActive: false))
        _ = table.announce("of another user", .init(isLocked: true))
        _ = table.lock("a")
        #expect(!table.hasHeardLock)
        _ = table.announce("a", .init(isLocked: true))
        #expect(table.hasHeardLock)
        _ = table.remove("a")
        #expect(table.hasHeardLock)
        #expect(self.table(["a": .init(hasScreen: true, isLocked: true)]).hasHeardLock)
    }
}
