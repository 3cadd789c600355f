import SecretMemory

/// The progress of a long operation on all items, reported to the waiting user.
///
/// The user's request sets ``current``; the engine notes its steps there. Nothing is reported within the first
/// second, and then at most four times a second.
public final class WorkProgress: Sendable {
    /// The progress of the current task; nil if it is not reported.
    @TaskLocal public static var current: WorkProgress?

    /// Nothing is reported before this time.
    public static let silence = Duration.seconds(1)
    private static let pause = Duration.milliseconds(250)
    /// How many steps pass between two readings of the clock; a power of two.
    private static let stepsAtOnce = 16

    private struct State {
        var next: ContinuousClock.Instant?
        var steps = 0
    }

    private let state = Guarded(State())
    private let silence: Duration
    private let tell: @Sendable (_ done: Int, _ total: Int) -> Void

    /// Reports steps with `tell`, on the thread that notes them; it must not wait.
    public init(
        silence: Duration = WorkProgress.silence,
        _ tell: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) {
        self.silence = silence
        self.tell = tell
    }

    /// Notes that `done` of `total` steps are complete.
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
