package import KeychainModel

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = StandingClock()
/// let engine = AuthenticationEngine(…, clock: clock, timer: clock.timer)
/// await clock.sleep(of: .milliseconds(500))
/// clock.advance(by: .milliseconds(500))
/// ```
package final class StandingClock: BootClock {
    private struct Sleeper: Sendable {
        let number: Int
        let asked: Duration
        let end: Duration
    }

    private struct State: Sendable {
        var bootID = "boot-1"
        var sinceBoot = Duration.seconds(1000)
        var passed = Duration.zero
        var count = 0
        var sleepers: [Sleeper] = []
        var cancelled: Set<Int> = []
    }

    private let state = Watched(State())

    /// Creates a clock at 1000 s after boot.
    package init() {}

    /// The present moment.
    package func now() -> BootTime {
        state.update { BootTime(bootID: $0.bootID, nanoseconds: 0).advanced(by: $0.sinceBoot) }
    }

    /// Advances the time, and wakes the sleepers whose deadline has passed.
    package func advance(by duration: Duration) {
        state.update { state in
            state.sinceBoot += duration
            state.passed += duration
        }
    }

    /// Restarts the machine: another boot ID, and `sinceBoot` on the clock since boot.
    ///
    /// Sleeps continue.
    package func restart(bootID: String, sinceBoot: Duration = .seconds(10)) {
        state.update { state in
            state.bootID = bootID
            state.sinceBoot = sinceBoot
        }
    }

    /// Waits until a task sleeps for exactly `duration`.
    package func sleep(of duration: Duration) async {
        _ =
            await state.wait { state in
                state.sleepers.contains { $0.asked == duration && $0.end > state.passed } ? true : nil
            } as Bool
    }

    /// The `Clock` for sleeping; it advances with this one.
    package var timer: Timer { Timer(clock: self) }

    fileprivate var passed: Duration { state.update { $0.passed } }

    fileprivate func sleep(until end: Duration) async throws {
        let number = state.update { state in
            state.count += 1
            state.sleepers.append(Sleeper(number: state.count, asked: end - state.passed, end: end))
            return state.count
        }
        let isOver = await withTaskCancellationHandler {
            await state.wait { state -> Bool? in
                let isCancelled = state.cancelled.remove(number) != nil
                guard isCancelled || end <= state.passed else { return nil }
                state.sleepers.removeAll { $0.number == number }
                return !isCancelled
            }
        } onCancel: {
            state.update { state in
                if state.sleepers.contains(where: { $0.number == number }) { state.cancelled.insert(number) }
            }
        }
        if !isOver { throw CancellationError() }
    }

    /// The sleeping side of a ``StandingClock``.
    package struct Timer: Clock {
        /// A moment: the time passed since the clock was created.
        package struct Instant: InstantProtocol {
            /// The time passed.
            package let passed: Duration

            /// The moment `duration` later.
            package func advanced(by duration: Duration) -> Instant { Instant(passed: passed + duration) }

            /// The time from here to `other`.
            package func duration(to other: Instant) -> Duration { other.passed - passed }

            /// Whether `lhs` is before `rhs`.
            package static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.passed < rhs.passed }
        }

        fileprivate let clock: StandingClock

        /// The present moment.
        package var now: Instant { Instant(passed: clock.passed) }

        /// One nanosecond.
        package var minimumResolution: Duration { .nanoseconds(1) }

        /// Sleeps until the clock has reached `deadline`.
        package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            try await clock.sleep(until: deadline.passed)
        }
    }
}
