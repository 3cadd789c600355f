internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// The listeners of this process for misses at its prompts, by keychain.
enum MissListeners {
    typealias Listener = @Sendable (TouchMiss) -> Void

    private struct State {
        /// Each with its keychain, which is kept as long as somebody listens.
        var listeners: [UInt64: (client: RemoteKeychain, tell: Listener)] = [:]
        var last: UInt64 = 0
    }

    private static let state = Guarded(State())

    /// Calls `listener` for each miss at a prompt of this process.
    ///
    /// - Returns: a closure that removes the listener.
    static func add(_ client: RemoteKeychain, _ listener: @escaping Listener) -> @Sendable () -> Void {
        let number = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = (client, listener)
            return state.last
        }
        return { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
    }

    /// Whether somebody listens to the misses at a keychain's prompts.
    static func isHeard(_ client: RemoteKeychain) -> Bool {
        state.withLock { state in state.listeners.values.contains { $0.client === client } }
    }

    /// Tells a miss to the listeners of a keychain.
    static func tell(_ client: RemoteKeychain, _ miss: TouchMiss) {
        let listeners = state.withLock { state in
            state.listeners.sorted { $0.key < $1.key }.map(\.value).filter { $0.client === client }
        }
        for listener in listeners { listener.tell(miss) }
    }
}

extension TouchMiss {
    /// The miss that the daemon reported.
    init(_ miss: MissedTouch) {
        let reason: Reason =
            switch miss.reason {
            case .noMatch: .noMatch
            case .tooShort: .tooShort
            case .offCentre: .offCentre
            case .lift: .lift
            case .unreadable: .unreadable
            }
        self.init(count: miss.count, reason: reason)
    }
}

extension KeychainLink {
    /// Calls `listener` for each miss at a prompt of this process.
    ///
    /// - Returns: a closure that removes the listener; nil if the system reports no misses.
    func listenToMisses(_ listener: @escaping @Sendable (TouchMiss) -> Void) -> (@Sendable () -> Void)? {
        MissListeners.add(client, listener)
    }
}
