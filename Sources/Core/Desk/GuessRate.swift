import KeychainModel
import SecretMemory

/// Limits how often a wrong secret may be compared with items that are not opened: otherwise a program could try guesses of a
/// guarded secret as fast as the daemon answers.
final class GuessRate: Sendable {
    /// The wrong guesses that are free at first.
    static let most = 20
    /// After this time one more is free.
    static let pause = Duration.seconds(6)

    private struct State {
        var wrong = 0
        var since = ContinuousClock.now
    }
    private let state = Guarded(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

    /// - Throws: `errSecNotAvailable` with ``KnownCause/guessRate`` if too many were wrong.
    func check() throws(KeychainError) {
        let isFree = state.withLock { state in
            forget(&state)
            return state.wrong < Self.most
        }
        guard isFree else { throw KeychainError(.notAvailable, cause: DriverCause(.guessRate)) }
    }

    /// Counts wrong guesses.
    func note(wrong count: Int) {
        state.withLock { state in
            forget(&state)
            state.wrong += count
        }
    }

    private func forget(_ state: inout State) {
        let now = now()
        let forgotten = min(state.wrong, Int((now - state.since) / Self.pause))
        state.wrong -= forgotten
        state.since = state.wrong == 0 ? now : state.since + Self.pause * forgotten
    }
}
