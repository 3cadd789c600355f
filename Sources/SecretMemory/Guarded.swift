package import Glibc

/// A value behind a POSIX mutex, for what many threads touch all the time.
///
/// Not the standard library's `Mutex`: the thread sanitizer does not know that one on Linux, and would report all
/// that it guards.
@safe
package final class Guarded<Value>: @unchecked Sendable {  // the value is touched under the mutex alone
    @usableFromInline
    internal let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // The mutex sees to it that one has it at a time.
    @usableFromInline
    @exclusivity(unchecked)
    internal var value: Value

    package init(_ value: Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe self.value = value
    }

    /// Lends the value to one caller at a time.
    @inlinable
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }
}
