import Glibc

/// State shared by threads, with a condition to wait for.
///
/// A Swift mutex has no condition variable; this is the POSIX pair.
@safe
final class Monitor<State: ~Copyable>: @unchecked Sendable {  // the state is touched under `mutex` alone
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private let state: UnsafeMutablePointer<State>

    /// Makes a monitor with an initial state.
    init(_ initial: consuming State) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe changed = .allocate(capacity: 1)
        unsafe state = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        // Deadlines use the monotonic clock.
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(changed, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
        unsafe state.initialize(to: initial)
    }

    deinit {
        unsafe state.deinitialize(count: 1)
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(mutex)
        unsafe state.deallocate()
        unsafe changed.deallocate()
        unsafe mutex.deallocate()
    }

    /// Changes the state and wakes waiting threads.
    func change<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try unsafe body(&state.pointee)
    }

    /// Reads the state.
    func inspect<R>(_ body: (borrowing State) -> R) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe body(state.pointee)
    }

    /// Calls `body` again after each change until it returns a value.
    func wait<R: ~Copyable>(for body: (inout State) -> R?) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let answer = unsafe body(&state.pointee) { return answer }
            unsafe pthread_cond_wait(changed, mutex)
        }
    }

    /// ``wait(for:)`` with a deadline, and until `isCancelled`, which is polled ten times a second; returns
    /// nil then.
    func wait<R: ~Copyable>(
        until deadline: ContinuousClock.Instant,
        unless isCancelled: () -> Bool,
        for body: (inout State) -> R?
    ) -> R? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let answer = unsafe body(&state.pointee) { return answer }
            let left = ContinuousClock.now.duration(to: deadline)
            if left <= .zero || isCancelled() { return nil }
            var time = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            let step = min(left, .milliseconds(100)).components
            time.tv_nsec += Int(step.attoseconds / 1_000_000_000)
            time.tv_sec += Int(step.seconds) + time.tv_nsec / 1_000_000_000
            time.tv_nsec %= 1_000_000_000
            unsafe pthread_cond_timedwait(changed, mutex, &time)
        }
    }
}
