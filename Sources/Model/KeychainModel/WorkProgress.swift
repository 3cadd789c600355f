import SecretMemory

/// How far a long look through all items is, told to the person who waits for it.
///
/// The request that serves the person sets ``current``; the engine notes its steps there. Nothing is told within the
/// first second, and then four times a second at most.
public final class WorkProgress: Sendable {
    /// The progress of the task that runs; nil where nobody wants to know.
    @TaskLocal public static var current: WorkProgress?

    /// Before this, nothing is told.
    public static let silence = Duration.seconds(1)
    private static let pause = Duration.milliseconds(250)
    /// How many steps go by between two looks at the clock; a power of two.
    private static let stepsAtOnce = 16

    private struct State {
        var next: ContinuousClock.Instant?
        var steps = 0
    }

    private let state = Guarded(State())
    private let silence: Duration
    private let tell: @Sendable (_ done: Int, _ total: Int) -> Void

    /// Tells of steps by `tell`, on the thread that notes them; it must not wait.
    public init(
        silence: Duration = WorkProgress.silence,
        _ tell: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) {
        self.silence = silence
        self.tell = tell
    }

    /// Notes that `done` of `total` steps are done.
    public func note(_ done: Int, of total: Int) {
        let isDue = state.withLock { state in
            defer { state.steps += 1 }
            guard state.steps % Self.stepsAtOnce == 0 else { return false }
            let now = ContinuousClock.now
            guard let next = state.next else {
                state.next = now + silence
                return false
            }
            guard now >= next else { return false }
            state.next = now + Self.pause
            return true
        }
        if isDue { tell(min(done, total), total) }
    }
}
