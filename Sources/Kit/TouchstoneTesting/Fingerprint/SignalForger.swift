import FingerprintDriver
import Glibc
import SecretMemory

/// Sends fprintd's and logind's signals without owning their names, as any local account can.
package actor SignalForger {
    private let peer: BusPeer

    /// Connects to the bus.
    package init(_ bus: PrivateBus) async throws {
        peer = try await BusPeer(address: bus.address)
    }

    /// Emits an event of a sensor, as a broadcast and to each connection by its unique name.
    ///
    /// Returns once the bus has taken all signals.
    ///
    /// - Parameters:
    ///   - event: the event to emit.
    ///   - path: the sensor's object path.
    ///   - count: how many times.
    /// - Throws: an error of the bus.
    package func forge(_ event: ScriptedFprintd.Event, path: String, count: Int = 1) async throws {
        let connections = try await connections()
        try await peer.emit(event.signal(path: path), alsoTo: connections, count: count)
        try await peer.flush()
    }

    /// Emits logind's signal that the machine is about to sleep.
    package func forgeSleep() async throws {
        let signal = ScriptedLogind.sleepSignal(true)
        try await peer.emit(signal)
        for connection in try await connections() { try await peer.emit(signal, to: connection) }
        try await peer.flush()
    }

    /// Emits the signal that fprintd's name has another owner.
    package func forgeOwnerChange() async throws {
        let signal = BusPeer.Signal(
            "/org/freedesktop/DBus",
            "org.freedesktop.DBus",
            "NameOwnerChanged",
            [.string(Fprint.busName), .string(":1.0"), .string("")]
        )
        for connection in try await connections() { try await peer.emit(signal, to: connection) }
        try await peer.flush()
    }

    private func connections() async throws -> [String] {
        let names = try await peer.call(.bus, "ListNames").first?.texts ?? []
        return names.filter { $0.hasPrefix(":") }
    }

    /// Disconnects from the bus.
    package func stop() async { await peer.close() }
}

/// A peer that owns logind's name, grants sleep delays, and can announce that the machine is about to sleep.
package actor ScriptedLogind {
    private let peer: BusPeer
    private let delays = SleepDelays()

    /// Takes logind's name.
    package init(_ bus: PrivateBus) async throws {
        let delays = delays
        peer = try await BusPeer(address: bus.address) { call in
            guard call.member == "Inhibit" else { return nil }
            return delays.take(call.arguments.compactMap(\.text))
        }
        try await peer.own(Login1.busName)
    }

    /// Waits until the given number of delays was requested; returns how many are still held.
    package func delaysHeld(ofAll count: Int) async throws -> Int {
        try await Deadline.wait(for: "\(count) delays") { delays.count >= count ? delays.held : nil }
    }

    /// Waits until each of `holders` delays sleep, as Touchstone's driver and fprintd do from their start or the wake-up on; one
    /// that is named twice has two delays.
    package func waitUntilDelayed(by holders: [String] = [touchstone]) async throws {
        try await Deadline.wait(for: "delays of sleep by \(holders)") {
            let areAll = holders.allSatisfy { who in
                delays.held(by: who) >= holders.count { $0 == who }
            }
            return areAll ? true : nil
        }
    }

    /// The name that Touchstone's driver gives for its delay.
    package static let touchstone = "Touchstone"
    /// The name that fprintd gives.
    package static let fprintd = Fprint.busName

    /// Waits until no client delays sleep any more.
    package func waitUntilNotDelayed() async throws {
        try await Deadline.wait(for: "leave to sleep") { delays.held == 0 ? true : nil }
    }

    /// Emits `PrepareForSleep(true)`, or `PrepareForSleep(false)` for the wake-up.
    package func prepareForSleep(_ isStarting: Bool = true) async throws {
        try await peer.emit(Self.sleepSignal(isStarting))
        try await peer.flush()
    }

    static func sleepSignal(_ isStarting: Bool) -> BusPeer.Signal {
        BusPeer.Signal(Login1.path, Login1.managerInterface, "PrepareForSleep", [.boolean(isStarting)])
    }

    /// Disconnects from the bus.
    package func stop() async { await peer.close() }
}

/// The granted delays: one pipe each, whose other end reports a hang-up when the last holder closes it.
private final class SleepDelays: Sendable {
    private let pipes = Guarded<[(who: String, end: BusDescriptor)]>([])

    var count: Int { pipes.withLock(\.count) }

    var held: Int { held { _ in true } }

    func held(by who: String) -> Int { held { $0 == who } }

    private func held(_ isCounted: (String) -> Bool) -> Int {
        pipes.withLock { pipes in
            pipes.count { who, pipe in
                var entry = pollfd(fd: pipe.number, events: 0, revents: 0)
                guard isCounted(who) else { return false }
                return unsafe poll(&entry, 1, 0) == 0
            }
        }
    }

    /// Grants a delay: `what`, `who`, `why` and `mode`.
    func take(_ arguments: [String]) -> BusPeer.Answer {
        var ends: [CInt] = [-1, -1]
        guard arguments.count == 4, arguments[0] == "sleep", arguments[3] == "delay", unsafe pipe(&ends) == 0
        else { return .init(error: "org.freedesktop.DBus.Error.InvalidArgs") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        pipes.withLock { $0.append((arguments[1], BusDescriptor(adopting: ends[0]))) }
        return .init([.descriptor(BusDescriptor(adopting: ends[1]))])
    }
}
