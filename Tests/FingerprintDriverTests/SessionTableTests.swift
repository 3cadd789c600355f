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
        #expect(table.hint("a", isLocked: true) == .screenLocked)
        #expect(table.hint("a", isLocked: true) == nil)
        #expect(table.hint("a", isLocked: false) == nil)
        #expect(table.hint("a", isLocked: true) == .screenLocked)
    }

    @Test("of two screens the last unlocked one counts, and the end of it as much as its lock")
    func twoScreens() {
        var table = table(["a": Self.screen, "b": Self.screen])
        #expect(table.hint("a", isLocked: true) == nil)
        #expect(table.hint("b", isLocked: true) == .screenLocked)
        #expect(table.hint("a", isLocked: false) == nil)
        #expect(table.remove("a") == .sessionEnded)
        #expect(table.remove("b") == nil)
    }

    @Test("a console keeps nothing open beside a screen, and counts by itself")
    func console() {
        var table = table(["a": Self.screen, "ssh": Self.console])
        #expect(table.hint("a", isLocked: true) == .screenLocked)
        #expect(table.hint("a", isLocked: false) == nil)
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
        _ = table.hint("b", isLocked: true)
        #expect(table.lock("a") == .screenLocked)
        #expect(table.lock("a") == .screenLocked)
        #expect(table.lock("another user's") == nil)
    }

    @Test("a hint that arrives before the reply wins, and a session that ended meanwhile is not added")
    func races() {
        var table = table(["a": Self.screen])
        table.request("b")
        #expect(table.hint("b", isLocked: true) == nil)
        #expect(table.receive("b", Self.screen) == nil)
        #expect(table.hint("a", isLocked: true) == .screenLocked)

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
        #expect(table.hint("b", isLocked: true) == nil)
    }

    @Test("what was missed is a departure: a lock that is read again, and sessions that are gone")
    func missed() {
        var table = table(["a": Self.screen, "b": Self.screen])
        #expect(table.keep(["a"]) == nil)
        table.request("a")
        #expect(table.receive("a", .init(hasScreen: true, isLocked: true)) == .screenLocked)
        _ = table.hint("a", isLocked: false)
        #expect(table.keep([]) == .sessionEnded)
    }
}
