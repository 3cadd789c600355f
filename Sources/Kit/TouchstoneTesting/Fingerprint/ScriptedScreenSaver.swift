package import FingerprintDriver
import MessageBus
import SecretMemory

/// A peer that owns a screen saver's name on a bus and says when it is active.
package actor ScriptedScreenSaver {
    private let peer: BusPeer
    private let saver: ScreenSaver
    private let path: String
    private let isActive: Guarded<Bool>

    /// Takes the name.
    ///
    /// - Parameters:
    ///   - bus: the session bus.
    ///   - saver: which one it is.
    ///   - path: its object's path; nil for the usual one.
    ///   - isActive: whether the screen is blanked at the start.
    /// - Throws: an error of the bus.
    package init(
        _ bus: PrivateBus,
        _ saver: ScreenSaver,
        path: String? = nil,
        isActive: Bool = false
    ) async throws {
        let (path, isActive) = (path ?? saver.paths[0], Guarded(isActive))
        (self.saver, self.path, self.isActive) = (saver, path, isActive)
        peer = try await BusPeer(address: bus.address) { call in
            guard call.member == "GetActive", call.path == path else { return nil }
            return BusPeer.Answer([.boolean(isActive.withLock { $0 })])
        }
        try await peer.own(saver.rawValue)
    }

    /// Blanks or locks the screen, or ends that.
    package func setActive(_ isActive: Bool) async throws {
        self.isActive.withLock { $0 = isActive }
        try await peer.emit(Self.signal(saver, at: path, isActive))
        try await peer.flush()
    }

    /// The signal of a screen saver.
    package static func signal(_ saver: ScreenSaver, at path: String, _ isActive: Bool) -> BusPeer.Signal {
        BusPeer.Signal(path, saver.rawValue, "ActiveChanged", [.boolean(isActive)])
    }

    /// Disconnects from the bus.
    package func stop() async { await peer.close() }
}
