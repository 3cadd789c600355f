/// Why a call over the bus did not succeed.
package enum BusError: Error, Hashable, Sendable {
    /// libsystemd or the kernel refused; the positive `errno`.
    case system(errno: CInt)
    /// The peer, or the bus itself, answered with an error.
    case remote(name: String, message: String)
    /// What was received is not what the interface says, or goes beyond a limit.
    case malformed
}

/// Turns libsystemd's "negative is an error" into a thrown error.
@discardableResult
func check(_ result: CInt) throws(BusError) -> CInt {
    guard result >= 0 else { throw BusError.system(errno: -result) }
    return result
}
