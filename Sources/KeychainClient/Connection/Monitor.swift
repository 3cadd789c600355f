import Glibc

/// State that threads share, with a way to sleep until it is as wanted.
///
/// `Synchronization.Mutex` has no condition to wait for; this is the POSIX pair.
@safe
final class Monitor<State: ~Copyable>: @unchecked Sendable {  // the state is touched under `mutex` alone
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private let state: UnsafeMutablePointer<State>

    /// Starts with `initial`.
    init(_ initial: consuming State) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe changed = .allocate(capacity: 1)
        unsafe state = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(changed, nil)
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

    /// Changes the state and wakes those who wait for a change.
    func change<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try unsafe body(&state.pointee)
    }

    /// Looks at the state.
    func inspect<R>(_ body: (borrowing State) -> R) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe body(state.pointee)
    }

    /// Asks `body` again after each change until it has an answer.
    func wait<R: ~Copyable>(for body: (inout State) -> R?) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let answer = unsafe body(&state.pointee) { return answer }
            unsafe pthread_cond_wait(changed, mutex)
        }
    }
}
