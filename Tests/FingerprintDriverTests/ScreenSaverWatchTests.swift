import FingerprintDriver
import SecretMemory
import Testing
import TouchstoneTesting

/// A watch of the screen savers on a private bus, with scripted ones.
@Suite("Watching screen savers")
struct ScreenSaverWatchTests {
    private final class Watched: Sendable {
        let watch: ScreenSaverWatch
        let forgeries: Guarded<Int>
        private let heard: Guarded<Int>
        private let tasks: [Task<Void, Never>]

        init(_ address: String) {
            let (forgeries, heard) = (Guarded(0), Guarded(0))
            (self.forgeries, self.heard) = (forgeries, heard)
            let watch = ScreenSaverWatch(bus: address, onForgedSignal: { forgeries.withLock { $0 += 1 } })
            self.watch = watch
            tasks = [
                Task { await watch.run() },
                Task { for await _ in watch.locks { heard.withLock { $0 += 1 } } },
            ]
        }

        deinit { for task in tasks { task.cancel() } }

        var locks: Int { heard.withLock { $0 } }

        func wait(forLocks count: Int) async throws {
            try await Deadline.wait(for: "\(count) locks") { self.locks >= count ? true : nil }
        }

        func wait(for saver: ScreenSaver?) async throws {
            try await Deadline.wait(for: "\(String(describing: saver))") {
                await self.watch.heard() == saver ? true : nil
            }
        }
    }

    @Test("each desktop's screen saver is heard, at each of its paths", arguments: ScreenSaver.allCases)
    func each(saver: ScreenSaver) async throws {
        for path in saver.paths {
            let bus = try await PrivateBus.start(sensors: [])
            let scripted = try await ScriptedScreenSaver(bus, saver, path: path)
            let watched = Watched(bus.address)
            #expect(await watched.watch.heard() == saver)
            for count in 1...2 {
                try await scripted.setActive(true)
                try await watched.wait(forLocks: count)
                try await scripted.setActive(false)
            }
            // One that says so twice, as at each of two paths, locked once.
            try await scripted.setActive(true)
            try await scripted.setActive(true)
            try await watched.wait(forLocks: 3)
            await scripted.stop()
            try await watched.wait(for: nil)
            #expect(watched.locks == 3)
            await bus.stop()
        }
    }

    @Test("signals of others than the owner of the name are counted and lock nothing")
    func forged() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let scripted = try await ScriptedScreenSaver(bus, .gnome)
        let watched = Watched(bus.address)
        try await watched.wait(for: .gnome)
        let forger = try await SignalForger(bus)
        for saver in [ScreenSaver.gnome, .xfce] {
            try await forger.forge(ScriptedScreenSaver.signal(saver, at: saver.paths[0], true))
        }
        try await Deadline.wait(for: "2 forgeries") { watched.forgeries.withLock { $0 } >= 2 ? true : nil }
        #expect(watched.locks == 0)
        try await scripted.setActive(true)
        try await watched.wait(forLocks: 1)
        await bus.stop()
    }

    @Test("one that comes later is heard, after its restart too, and a lock that was missed counts")
    func later() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let watched = Watched(bus.address)
        #expect(await watched.watch.heard() == nil)
        let first = try await ScriptedScreenSaver(bus, .freedesktop)
        try await watched.wait(for: .freedesktop)
        await first.stop()
        try await watched.wait(for: nil)
        let second = try await ScriptedScreenSaver(bus, .freedesktop, isActive: true)
        try await watched.wait(forLocks: 1)
        await second.stop()
        // Active when it is first seen is no lock: nobody has left since.
        let third = try await ScriptedScreenSaver(bus, .mate, isActive: true)
        try await watched.wait(for: .mate)
        #expect(watched.locks == 1)
        await bus.stopBus()
        try await watched.wait(for: nil)
        await third.stop()
        try await bus.startBus()
        let fourth = try await ScriptedScreenSaver(bus, .mate)
        try await watched.wait(for: .mate)
        try await fourth.setActive(true)
        try await watched.wait(forLocks: 2)
        await bus.stop()
    }

    @Test("a name whose owner has no state is not counted as heard, but its signal is")
    func proxy() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let peer = try await BusPeer(address: bus.address)
        try await peer.own(ScreenSaver.freedesktop.rawValue)
        let watched = Watched(bus.address)
        #expect(await watched.watch.heard() == nil)
        try await peer.emit(ScriptedScreenSaver.signal(.freedesktop, at: "/ScreenSaver", true))
        try await watched.wait(forLocks: 1)
        // Without its boolean it is none.
        try await peer.emit(
            BusPeer.Signal("/ScreenSaver", ScreenSaver.freedesktop.rawValue, "ActiveChanged", [])
        )
        try await peer.emit(ScriptedScreenSaver.signal(.freedesktop, at: "/ScreenSaver", false))
        try await peer.emit(ScriptedScreenSaver.signal(.freedesktop, at: "/ScreenSaver", true))
        try await watched.wait(forLocks: 2)
        #expect(watched.locks == 2)
        await bus.stop()
    }

    @Test("without a bus there is none, and the watch ends when it is cancelled")
    func noBus() async throws {
        let watch = ScreenSaverWatch(bus: "unix:path=/nonexistent/bus")
        let task = Task { await watch.run() }
        #expect(await watch.heard() == nil)
        task.cancel()
        await task.value
        for await _ in watch.locks { Issue.record("a lock") }
    }

    @Test("only local sockets are connected to")
    func addresses() {
        #expect(ScreenSaver.localBus("unix:path=/run/user/1/bus") == "unix:path=/run/user/1/bus")
        #expect(
            ScreenSaver.localBus("tcp:host=a;unix:abstract=/b,guid=1;unix:path=/c")
                == "unix:abstract=/b,guid=1;unix:path=/c"
        )
        for address in [
            "", ";", "unixexec:path=/bin/sh", "tcp:host=example.org,port=1", "x-machine-unix:machine=m",
        ] {
            #expect(ScreenSaver.localBus(address) == nil, "\(address)")
        }
    }
}
