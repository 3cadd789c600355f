/// Why bytes from the peer were refused.
public enum WireError: Error, Sendable, Equatable {
    /// The frame's length is 0 or above the limit.
    case frameLength(UInt32)
    /// The frame is not one well-formed, deterministic message.
    case malformed
    /// The message is of a version this program does not speak.
    case version(UInt64)
    /// The method is unknown.
    case method(UInt64)
    /// The connection was closed in the middle of a message or call.
    case closed
    /// No memory could be locked for the message.
    case noLockedMemory(errno: Int32)
    /// A system call failed.
    case system(errno: Int32)
}
