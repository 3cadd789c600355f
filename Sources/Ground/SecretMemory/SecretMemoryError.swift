/// Why memory for secrets could not be allocated.
///
/// Only ``code`` takes part in `==`; ``errno`` is for the log.
public struct SecretMemoryError: Error, Sendable {
    /// A reason that a caller may act on.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number that stands for the reason.
        public let rawValue: Int

        /// Accepts any number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The kernel refused to map, lock, or mark pages; often `RLIMIT_MEMLOCK` is too low.
        public static let pagesRefused = Code(rawValue: 1)
    }

    /// What the caller may act on.
    public let code: Code
    /// The `errno` of the call that failed; `ENOMEM` and `EAGAIN` mean the limit is reached, `EPERM` that it is 0.
    public let errno: CInt

    /// Creates an error from a reason and the `errno` of the failed call.
    public init(_ code: Code, errno: CInt) {
        self.code = code
        self.errno = errno
    }
}

extension SecretMemoryError: Equatable {
    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}

extension SecretMemoryError: CustomStringConvertible {
    /// One line for the log.
    public var description: String { "no locked memory for secrets (errno \(errno); see RLIMIT_MEMLOCK)" }
}
