import KeychainModel

/// Remembers the last successful finger of each process, for apps that reuse it for a while
/// (`touchIDAuthenticationAllowableReuseDuration`).
struct FactorReuse: Sendable, Equatable {
    /// Apple's `LATouchIDAuthenticationMaximumAllowableReuseDuration`.
    static let longestWindow = Duration.seconds(300)
    /// The most processes remembered; the oldest is forgotten first.
    static let processCount = 64

    /// A process, distinguished by its start time from a later one with the same process id.
    struct Process: Hashable, Sendable {
        let uid: UInt32
        let pid: Int32
        let start: UInt64

        /// Nil if the kernel could not identify the caller: such a caller reuses nothing.
        init?(_ caller: Caller) {
            guard caller.pid > 0, caller.processStart > 0 else { return nil }
            uid = caller.uid
            pid = caller.pid
            start = caller.processStart
        }
    }

    /// What a finger was accepted for, and when.
    struct Success: Sendable, Equatable {
        let time: BootTime
        let satisfied: Set<AccessConstraint>
        let operation: AccessOperation?
        /// Whether it was on a weak sensor (``SensorFacts/isWeak``).
        let isOfWeakSensor: Bool
    }

    private var successes: [Process: Success] = [:]

    /// The window limited to 0 to 300 s.
    static func clamped(_ window: Duration) -> Duration {
        min(max(window, .zero), longestWindow)
    }

    /// Remembers a finger.
    mutating func remember(_ success: Success, of process: Process) {
        successes[process] = success
        guard successes.count > Self.processCount else { return }
        if let oldest = successes.min(by: { $0.value.time.nanoseconds < $1.value.time.nanoseconds }) {
            successes[oldest.key] = nil
        }
    }

    /// A finger of this process that is recent enough and was accepted for at least these constraints.
    ///
    /// The prompt named the finger's purpose, so a stricter access control or another operation needs a new prompt.
    func success(
        of process: Process,
        covering constraints: Set<AccessConstraint>,
        operation: AccessOperation?,
        strongSensorOnly: Bool,
        within window: Duration,
        at now: BootTime
    ) -> Success? {
        let window = Self.clamped(window)
        guard window > .zero, !constraints.isEmpty, let success = successes[process],
            let age = now.since(success.time), age >= .zero, age <= window,
            constraints.isSubset(of: success.satisfied), !strongSensorOnly || !success.isOfWeakSensor,
            success.operation == nil || success.operation == operation
        else { return nil }
        return success
    }

    /// Forgets all successes: the keybag was locked, the machine sleeps, or the enrolled fingers changed.
    mutating func clear() {
        successes = [:]
    }
}
