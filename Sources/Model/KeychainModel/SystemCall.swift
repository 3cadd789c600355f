import Glibc

/// Calls of the system that a signal may interrupt.
package enum SystemCall {
    /// The result of a call that is made again for as long as a signal interrupts it (`EINTR`); negative, with `errno`,
    /// when it fails for another reason.
    @inline(__always)
    package static func uninterrupted<Result: SignedInteger>(_ call: () throws -> Result) rethrows -> Result {
        while true {
            let result = try call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
