import KeychainModel

/// Why the daemon cannot listen or run.
///
/// Only ``code`` takes part in `==`; ``detail`` is for the user who started it.
public struct ServerError: Error, Sendable {
    /// A reason that a program may act on.
    public enum Code: Sendable {
        /// Another daemon of this user is running.
        case alreadyRunning
        /// A directory or file is accessible to others, or is not of the expected kind.
        case unsafePath
        /// The socket's path is longer than the kernel accepts.
        case pathTooLong
        /// The descriptor that was passed is not a listening Unix socket.
        case notASocket
        /// A system call failed.
        case system
    }

    /// The reason to act on.
    public let code: Code
    /// One sentence without a full stop.
    public let detail: String

    /// Creates an error.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The system call `call` failed with `number`.
    package init(call: String, errno number: CInt) {
        self.init(.system, "\(call) failed (\(SystemError.name(of: number)))")
    }
}

extension ServerError: Equatable {
    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}
