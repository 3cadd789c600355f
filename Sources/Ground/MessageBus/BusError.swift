/// Why a call over the bus failed.
package enum BusError: Error, Hashable, Sendable {
    /// libsystemd or the kernel refused; the positive `errno`.
    case system(errno: CInt)
    /// The peer, or the bus itself, answered with an error.
    case remote(name: String, message: String)
    /// The message received does not match its interface, or exceeds a limit.
    case malformed
}

/// Throws libsystemd's negative results as errors.
@discardableResult
func check(_ result: CInt) throws(BusError) -> CInt {
    guard result >= 0 else { throw BusError.system(errno: -result) }
    return result
}
