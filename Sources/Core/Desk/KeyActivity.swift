import KeychainModel
import SecretMemory

/// When an unlocked key was last used, on the clock that also counts while the machine sleeps.
package final class KeyActivity: Sendable {
    private let last = Guarded(ContinuousClock.now)

    /// Counts from now.
    package init() {}

    /// A key is used now.
    package func note() {
        let now = ContinuousClock.now
        last.withLock { $0 = now }
    }

    /// The time since the last use.
    package var idleTime: Duration { last.withLock { $0 }.duration(to: .now) }
}
