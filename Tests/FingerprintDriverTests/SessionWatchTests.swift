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
