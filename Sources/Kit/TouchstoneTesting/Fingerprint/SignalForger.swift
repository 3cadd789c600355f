import FingerprintDriver
import Glibc
import SecretMemory

/// Sends fprintd's and logind's signals without being either, as any local account can.
package actor SignalForger {
    private let peer: BusPeer

    /// Connects to the bus.
    package init(_ bus: PrivateBus) async throws {
        peer = try await BusPeer(address: bus.address)
    }

    /// Announces something about a sensor, to everybody and to each connection by its own name.
    ///
    /// Returns once the bus has taken all of it.
    ///
    /// - Parameters:
    ///   - event: what is announced.
    ///   - path: the sensor's object.
    ///   - count: how often.
    /// - Throws: an error of the bus.
    package func forge(_ event: ScriptedFprintd.Event, path: String, count: Int = 1) async throws {
        let connections = try await connections()
        try await peer.emit(event.signal(path: path), alsoTo: connections, count: count)
        try await peer.flush()
    }

    /// Says that the machine is about to sleep.
    package func forgeSleep() async throws {
        let signal = ScriptedLogind.sleepSignal(true)
        try await peer.emit(signal)
        for connection in try await connections() { try await peer.emit(signal, to: connection) }
        try await peer.flush()
    }

    /// Says that fprintd's name has another owner.
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

    /// Leaves the bus.
    package func stop() async { await peer.close() }
}

/// A peer that owns logind's name, takes delays, and can say that the machine is about to sleep.
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

    /// Waits until so many delays were asked for, and says how many of them are not yet let go of.
    package func delaysHeld(ofAll count: Int) async throws -> Int {
        try await Deadline.wait(for: "\(count) delays") { delays.count >= count ? delays.held : nil }
    }

    /// Waits until nobody delays sleep any more.
    package func waitUntilNotDelayed() async throws {
        try await Deadline.wait(for: "leave to sleep") { delays.held == 0 ? true : nil }
    }

    /// `PrepareForSleep(true)`, then `PrepareForSleep(false)` when it woke up.
    package func prepareForSleep(_ isStarting: Bool = true) async throws {
        try await peer.emit(Self.sleepSignal(isStarting))
        try await peer.flush()
    }

    static func sleepSignal(_ isStarting: Bool) -> BusPeer.Signal {
        BusPeer.Signal(Login1.path, Login1.managerInterface, "PrepareForSleep", [.boolean(isStarting)])
    }

    /// Leaves the bus.
    package func stop() async { await peer.close() }
}

/// The delays that were given out: a pipe each, whose other end hangs up with the last holder.
private final class SleepDelays: Sendable {
    private let pipes = Guarded<[BusDescriptor]>([])

    var count: Int { pipes.withLock(\.count) }

    var held: Int {
        pipes.withLock { pipes in
            pipes.count { pipe in
                var entry = pollfd(fd: pipe.number, events: 0, revents: 0)
                return unsafe poll(&entry, 1, 0) == 0
            }
        }
    }

    func take(_ arguments: [String]) -> BusPeer.Answer {
        var ends: [CInt] = [-1, -1]
        guard arguments.first == "sleep", arguments.last == "delay", unsafe pipe(&ends) == 0 else {
            return .init(error: "org.freedesktop.DBus.Error.InvalidArgs")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        pipes.withLock { $0.append(BusDescriptor(adopting: ends[0])) }
        return .init([.descriptor(BusDescriptor(adopting: ends[1]))])
    }
}
