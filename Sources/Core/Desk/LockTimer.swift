import KeychainModel
import SecretMemory

/// The one pending `lock --after`: kept by the daemon, so that it outlives the program that asked.
package final class LockTimer: Sendable {
    private struct Pending {
        let end: ContinuousClock.Instant
        let task: Task<Void, Never>
    }

    private let pending = Guarded<Pending?>(nil)

    /// Nothing is pending.
    package init() {}

    /// Locks after a time, which also passes while the machine sleeps; a time that was set before no longer counts.
    ///
    /// - Parameters:
    ///   - time: the time from now.
    ///   - lock: locks the keychain.
    package func set(_ time: Duration, lock: @escaping @Sendable () async -> Void) {
        let end = ContinuousClock.now + time
        let task = Task {
            guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return }
            await lock()
        }
        replace(Pending(end: end, task: task))
    }

    /// Forgets the time: the keychain was locked.
    package func cancel() { replace(nil) }

    /// The whole seconds that are left, rounded up; nil without a time.
    package var secondsLeft: Int64? {
        guard let end = pending.withLock({ $0?.end }) else { return nil }
        return max(0, (ContinuousClock.now.duration(to: end) + .nanoseconds(999_999_999)).components.seconds)
    }

    private func replace(_ next: Pending?) {
        let former = pending.withLock { pending in
            let former = pending
            pending = next
            return former
        }
        former?.task.cancel()
    }
}
