import FingerprintDriver
import Glibc
import MessageBus
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
        try await forge(ScriptedLogind.sleepSignal(true))
    }

    /// Emits logind's signals that the screen of a session was locked, is to be locked, and that the session ended.
    package func forgeLock(of session: String) async throws {
        let path = ScriptedLogind.path(of: session)
        let removed: [BusValue] = [.string(session), .objectPath(path)]
        for signal in [
            ScriptedLogind.hintSignal(session, true),
            BusPeer.Signal(path, Login1.sessionInterface, "Lock", []),
            BusPeer.Signal(Login1.path, Login1.managerInterface, "SessionRemoved", removed),
        ] {
            try await forge(signal)
        }
    }

    /// Emits logind's signal that a seat shows a session, or shows another one.
    package func forgeActive(_ isActive: Bool, of session: String) async throws {
        try await forge(ScriptedLogind.activeSignal(session, isActive))
    }

    /// Emits a signal, as a broadcast and to each connection by its unique name.
    package func forge(_ signal: BusPeer.Signal) async throws {
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
