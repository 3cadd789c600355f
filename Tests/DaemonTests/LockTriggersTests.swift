import KeychainModel
import Testing

@testable import TouchstoneDaemon

@Suite("The setting lock-on")
struct LockTriggersTests {
    private func read(_ value: String) throws -> LockTriggers {
        try Configuration(try Setting.all(in: "lock-on = \(value)")).lockOn
    }

    @Test("screen and sleep are the default")
    func defaults() throws {
        let lockOn = try Configuration([]).lockOn
        #expect(lockOn.screen && lockOn.sleep && !lockOn.lid && lockOn.idle == nil)
        #expect(try read("screen, sleep") == lockOn)
    }

    @Test(
        "a list says exactly what locks",
        arguments: [
            ("never", false, false, nil), ("screen", true, false, nil), ("sleep,screen", true, true, nil),
            ("idle 15 min", false, false, Duration.seconds(900)),
            ("screen, idle  2 h", true, false, .seconds(7200)), ("idle 1 s", false, false, .seconds(1)),
            ("sleep, idle 168 h", false, true, .seconds(604_800)),
        ]
    )
    func lists(value: String, screen: Bool, sleep: Bool, idle: Duration?) throws {
        let lockOn = try read(value)
        #expect(lockOn.screen == screen && lockOn.sleep == sleep && lockOn.idle == idle && !lockOn.lid)
        guard value != "never" else { return }
        let withLid = try read(value + ", lid")
        #expect(withLid == LockTriggers(screen: screen, sleep: sleep, lid: true, idle: idle))
    }

    @Test(
        "nonsense is refused, with the reason",
        arguments: [
            ("", "must be never"), ("lids", "must be never"), ("screen,", "must be never"),
            ("lid, lid", "names lid twice"), ("lid 2", "must be never"),
            ("screen sleep", "must be never"), ("screen, screen", "names screen twice"),
            ("idle 1 s, idle 2 s", "names idle twice"), ("never, screen", "cannot combine never"),
            ("screen, never", "cannot combine never"), ("idle", "must be never"),
            ("idle 15", "must be never"), ("idle 15 days", "a whole number and s, min or h"),
            ("idle -1 s", "a whole number"), ("idle 1.5 h", "a whole number"),
            ("idle \u{0663} h", "a whole number"), ("idle 99999999999999999999 h", "a whole number"),
            ("idle 0 s", "from 1 s to 168 h"), ("idle 169 h", "from 1 s to 168 h"),
        ]
    )
    func nonsense(value: String, reason: String) throws {
        let fault = #expect(throws: Setting.Fault.self) { try read(value) }
        #expect(fault?.reason.contains(reason) == true && fault?.reason.hasPrefix("lock-on ") == true)
    }
}
