package import Glibc

/// A value behind a POSIX mutex: the only kind of lock for values in these sources.
///
/// Not the standard library's `Mutex`: on Linux its slow path is a futex call in a library that the thread sanitizer
/// does not instrument, so the sanitizer reports a race whenever two threads contend for the lock.
@safe
package final class Guarded<Value: ~Copyable>: @unchecked Sendable {  // touched under the mutex alone
    @usableFromInline
    internal let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // The mutex guarantees exclusive access.
    @usableFromInline
    @exclusivity(unchecked)
    internal var value: Value

    package init(_ value: consuming sending Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe self.value = value
    }

    /// Lends the value to one caller at a time.
    @inlinable
    package func withLock<R: ~Copyable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    /// ``withLock(_:)`` without waiting; nil if another thread holds the lock.
    @inlinable
    package func withLockIfFree<R: ~Copyable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R?
    {
        guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }
}
