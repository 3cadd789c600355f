/// Why bytes from the other end of the socket were refused.
public enum WireError: Error, Sendable, Equatable {
    /// The frame's length is 0 or above the limit.
    case frameLength(UInt32)
    /// The frame is not one well-formed, deterministic message.
    case malformed
    /// The message is of a version this program does not speak.
    case version(UInt64)
    /// The method is not known.
    case method(UInt64)
    /// The connection ended in the middle.
    case closed
    /// No memory could be locked for it.
    case noLockedMemory(errno: Int32)
    /// A system call failed.
    case system(errno: Int32)
}
