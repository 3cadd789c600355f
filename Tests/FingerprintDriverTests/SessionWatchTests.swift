import FingerprintDriver
import Glibc
import SecretMemory
import Testing
import TouchstoneTesting

/// A watch of the sessions of this process's user, on a private bus with a scripted logind.
@Suite("Watching login sessions")
struct SessionWatchTests {
    /// A running watch and what it reported.
    private final class Watched: Sendable {
        let watch: SessionWatch
        let forgeries: Guarded<Int>
        let faults: Guarded<[String]>
        private let heard: Guarded<[Departure]>
        private let tasks: [Task<Void, Never>]

        init(_ bus: BusAddress, delaysSleep: Bool = false) {
            let forgeries = Guarded(0)
            let faults = Guarded<[String]>([])
            let heard = Guarded<[Departure]>([])
            (self.forgeries, self.faults, self.heard) = (forgeries, faults, heard)
            let watch = SessionWatch(
                busAddress: bus,
                userID: geteuid(),
                delaysSleep: delaysSleep,
                onForgedSignal: { forgeries.withLock { $0 += 1 } },
                onFault: { fault in faults.withLock { $0.append(fault) } }
            )
            self.watch = watch
            tasks = [
                Task { await watch.run() },
                Task { for await departure in watch.departures { heard.withLock { $0.append(departure) } } },
            ]
        }

        deinit { for task in tasks { task.cancel() } }

        var departures: [Departure] { heard.withLock { $0 } }

        func wait(for departures: [Departure]) async throws {
            try await Deadline.wait(for: "\(departures)") { self.departures == departures ? true : nil }
        }
    }

    @Test(
        "the lock of the last unlocked screen is reported, and sessions of other users and greeters are not"
    )
    func locks() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(
            bus,
            sessions: [
                ScriptedSession("a"), ScriptedSession("ssh", type: "tty"),
                ScriptedSession("other", userID: geteuid() + 1),
                ScriptedSession("g", sessionClass: "greeter"),
            ]
        )
        let watched = Watched(bus.busAddress)
        try await logind.waitUntilRead(times: 3)
        try await logind.add(ScriptedSession("b"))
        try await logind.add(ScriptedSession("new", userID: geteuid() + 1))
        try await logind.waitUntilRead(times: 5)
        try await logind.setLocked("other")
        try await logind.setLocked("new")
        try await logind.setLocked("b")
        try await logind.setLocked("a")
        try await watched.wait(for: [.screenLocked])
        try await logind.setLocked("a", false)
        try await logind.askToLock("other")
        try await logind.askToLock("a")
        try await watched.wait(for: [.screenLocked, .screenLocked])
        try await logind.remove("a")
        try await watched.wait(for: [.screenLocked, .screenLocked, .sessionEnded])
        #expect(watched.forgeries.withLock { $0 } == 0)
        await bus.stop()
    }

    @Test("signals of others than logind are counted and change nothing")
    func forged() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("a")])
        let watched = Watched(bus.busAddress, delaysSleep: true)
        try await logind.waitUntilRead(times: 1)
        let forger = try await SignalForger(bus)
        try await forger.forgeLock(of: "a")
        try await forger.forgeSleep()
        try await Deadline.wait(for: "4 forgeries") { watched.forgeries.withLock { $0 } >= 4 ? true : nil }
        #expect(watched.departures.isEmpty)
        try await logind.setLocked("a")
        try await watched.wait(for: [.screenLocked])
        await bus.stop()
    }

    @Test("a name that another user owns is not trusted")
    func untrusted() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("a")])
        let watched = Watched(.testing(bus.address, ownerUserID: geteuid() + 1))
        try await Deadline.wait(for: "the fault") {
            watched.faults.withLock { $0.contains("logind: UntrustedOwner") } ? true : nil
        }
        try await logind.setLocked("a")
        await bus.stop()
        try await Deadline.wait(for: "the loss") { watched.faults.withLock { $0.count > 1 } ? true : nil }
        #expect(watched.departures.isEmpty)
    }

    @Test("sleep waits until it was handled, and each sleep anew")
    func sleep() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(bus)
        let watched = Watched(bus.busAddress, delaysSleep: true)
        for count in 1...2 {
            try await logind.waitUntilDelayed()
            try await logind.prepareForSleep()
            try await watched.wait(for: Array(repeating: .suspend, count: count))
            try await logind.waitUntilDelayed()
            await watched.watch.allowSleep()
            try await logind.waitUntilNotDelayed()
            try await logind.prepareForSleep(false)
        }
        await bus.stop()
    }

    @Test("a logind that comes later is heard, and after its restart a lock that was missed")
    func restarted() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let watched = Watched(bus.busAddress)
        try await Deadline.wait(for: "no logind") {
            watched.faults.withLock { $0 == ["logind is not on the bus"] } ? true : nil
        }
        let first = try await ScriptedLogind(bus, sessions: [ScriptedSession("a")])
        try await first.waitUntilRead(times: 1)
        await first.stop()
        let second = try await ScriptedLogind(bus, sessions: [ScriptedSession("a", isLocked: true)])
        try await watched.wait(for: [.screenLocked])
        try await second.setLocked("a", false)
        try await second.setLocked("a")
        try await watched.wait(for: [.screenLocked, .screenLocked])
        await bus.stop()
    }

    // MARK: Seats

    private static let sessions = [
        ScriptedSession("a", audit: 3), ScriptedSession("ssh", type: "tty", seat: "", audit: 4),
        ScriptedSession("other", userID: geteuid() + 1, audit: 5),
    ]

    private func wait(until isAway: Bool, _ login: UInt32?, _ watch: SessionWatch) async throws {
        try await Deadline.wait(for: "login \(login ?? 0) away: \(isAway)") {
            await watch.isAway(login) == isAway ? true : nil
        }
    }

    @Test("a login is away from a switch until the switch back, and whoever waits for it is told")
    func seats() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(bus, sessions: Self.sessions)
        let watched = Watched(bus.busAddress)
        let watch = watched.watch
        #expect(await !watch.isAway(3))
        let waiting = Task { await watch.waitUntilAway(3) }
        try await logind.setActive("other", false)
        try await logind.setActive("a", false)
        #expect(await waiting.value)
        #expect(await watch.isAway(3))
        for login: UInt32? in [4, 5, nil] { #expect(await !watch.isAway(login)) }
        let unknown = Task { await watch.waitUntilAway(nil) }
        try await logind.remove("ssh")
        #expect(await unknown.value)
        for login: UInt32? in [4, 5] { #expect(await watch.isAway(login)) }
        try await logind.setActive("a", true)
        for login: UInt32? in [3, 5, nil] { try await wait(until: false, login, watch) }
        let cancelled = Task { await watch.waitUntilAway(3) }
        cancelled.cancel()
        #expect(await !cancelled.value)
        #expect(watched.departures.isEmpty)
        await bus.stop()
    }

    @Test(
        "a session in which only processes are left is not switched away from, though logind does not announce it"
    )
    func closing() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("a", audit: 3)])
        let watched = Watched(bus.busAddress)
        let watch = watched.watch
        try await logind.setActive("a", false)
        try await wait(until: true, 3, watch)
        await logind.setState("a", "closing")
        #expect(await !watch.isAway(3))
        #expect(await !watch.isAway(nil))
        #expect(watched.departures.isEmpty)
        await bus.stop()
    }

    @Test("a login whose session was not read yet is judged by it, not by the others")
    func new() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("a", audit: 3)])
        let watched = Watched(bus.busAddress)
        let watch = watched.watch
        try await logind.waitUntilRead(times: 1)
        try await logind.add(ScriptedSession("b", isActive: false, audit: 4), announces: false)
        try await wait(until: true, 4, watch)
        try await logind.add(ScriptedSession("c", isActive: false, audit: 5), announces: false)
        #expect(await watch.waitUntilAway(5))
        #expect(watched.departures.isEmpty)
        await bus.stop()
    }

    @Test("a switch that is announced before the reply with the former value counts")
    func switchWhileRead() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("a", audit: 3)])
        await logind.switchWhileRead("a")
        let watched = Watched(bus.busAddress)
        let watch = watched.watch
        try await wait(until: true, 3, watch)
        await logind.switchWhileRead("a")
        #expect(await !watch.isAway(3))
        #expect(watched.departures.isEmpty)
        await bus.stop()
    }

    @Test("a switch that others announce changes nothing, neither away nor back")
    func forgedSwitch() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let logind = try await ScriptedLogind(
            bus,
            sessions: [ScriptedSession("a", audit: 3), ScriptedSession("b", isActive: false, audit: 4)]
        )
        let watched = Watched(bus.busAddress)
        let watch = watched.watch
        try await wait(until: true, 4, watch)
        let forger = try await SignalForger(bus)
        try await forger.forgeActive(false, of: "a")
        try await forger.forgeActive(true, of: "b")
        try await Deadline.wait(for: "2 forgeries") { watched.forgeries.withLock { $0 } >= 2 ? true : nil }
        #expect(await !watch.isAway(3))
        #expect(await watch.isAway(4))
        try await logind.setActive("a", false)
        #expect(await watch.waitUntilAway(3))
        #expect(watched.departures.isEmpty)
        await bus.stop()
    }

    @Test("without logind nobody is away; once it is back, sessions are judged again")
    func noLogind() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let first = try await ScriptedLogind(bus, sessions: [ScriptedSession("a", isActive: false, audit: 3)])
        let watched = Watched(bus.busAddress)
        let watch = watched.watch
        try await wait(until: true, 3, watch)
        await first.stop()
        try await wait(until: false, 3, watch)
        let waiting = Task { await watch.waitUntilAway(3) }
        let second = try await ScriptedLogind(
            bus,
            sessions: [ScriptedSession("a", isActive: false, audit: 3)]
        )
        #expect(await waiting.value)
        await second.stop()
        #expect(watched.departures.isEmpty)
        await bus.stop()
        try await wait(until: false, 3, watch)
        let unheard = SessionWatch(
            busAddress: .testing("unix:path=/nonexistent/bus"),
            userID: geteuid(),
            delaysSleep: false
        )
        #expect(await !unheard.isAway(nil))
    }

    @Test("without a bus nothing is reported but the fault, and the watch ends when it is cancelled")
    func noBus() async throws {
        let watch = SessionWatch(
            busAddress: .testing("unix:path=/nonexistent/bus"),
            userID: geteuid(),
            delaysSleep: true
        )
        let task = Task { await watch.run() }
        task.cancel()
        await task.value
        for await departure in watch.departures { Issue.record("\(departure)") }
    }
}
