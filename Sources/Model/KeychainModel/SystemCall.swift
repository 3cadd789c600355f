import Glibc

/// System calls that a signal may interrupt.
package enum SystemCall {
    /// The result of a call that is repeated while a signal interrupts it (`EINTR`); negative, with `errno`, on any
    /// other failure.
    @inline(__always)
    package static func uninterrupted<Result: SignedInteger>(_ call: () throws -> Result) rethrows -> Result {
        while true {
            let result = try call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
