/// The one error of this module: a code to act on, what failed below it, and what to do next.
///
/// `==` compares ``code`` alone, so that a test names what it expects. Nothing in an error is secret.
///
/// ```swift
/// do { token = try await store.read("token") } catch {
///     switch error.code {
///     case .notFound, .invalidated: signInAgain()
///     default: show(error.message(), error.advice())
///     }
/// }
/// ```
public struct TouchstoneError: Error, Sendable {
    /// What happened.
    public let code: Code
    /// The part that reported it, such as `fprintd`, `tpm` or `keybag`; nil where this module did.
    public let part: String?
    /// That part's own word for it, for a log, such as `NoSuchDevice`; nil where there is none.
    public let cause: String?
    /// What whoever reads ``advice(in:)`` can do.
    public let nextStep: NextStep
    /// How long nothing may be tried, where that is known.
    public let retryAfter: Duration?
    /// What belongs to the code: both rules of a ``Code/ruleMismatch``, the limit of a ``Code/limitExceeded``.
    public let details: [String]

    /// Makes an error, such as one to compare with in a test.
    ///
    /// - Parameters:
    ///   - code: What happened.
    ///   - part: The part that reported it.
    ///   - cause: That part's own word for it.
    public init(_ code: Code, part: String? = nil, cause: String? = nil) {
        self.init(code, part: part, cause: cause, nextStep: nil)
    }

    /// With all that is known; without a step of its own, the code's.
    package init(
        _ code: Code,
        part: String? = nil,
        cause: String? = nil,
        nextStep: NextStep? = nil,
        retryAfter: Duration? = nil,
        details: [String] = []
    ) {
        self.code = code
        self.part = part
        self.cause = cause
        self.nextStep = nextStep ?? ErrorTable.row(of: code).nextStep
        self.retryAfter = retryAfter
        self.details = details
    }

    /// A value that is beyond its limit, which the error names.
    static func limit(_ limit: String) -> TouchstoneError {
        TouchstoneError(.limitExceeded, details: [limit])
    }
}

extension TouchstoneError: Hashable {
    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }

    /// Hashes the code alone.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension TouchstoneError: CustomStringConvertible {
    /// One line for a log, in English: the code, its message, the details, the part with its cause.
    public var description: String {
        var text = "\(code.rawValue): \(message(in: "en"))"
        if !details.isEmpty { text += " [\(details.joined(separator: "; "))]" }
        switch (part, cause) {
        case (let part?, let cause?): text += " (\(part): \(cause))"
        case (let word?, nil), (nil, let word?): text += " (\(word))"
        case (nil, nil): break
        }
        return text
    }
}

extension TouchstoneError {
    /// The number of Apple's `LAError.Code` that means the same; nil where there is none.
    public var laErrorCode: Int? { ErrorTable.row(of: code).laError }
    /// The `OSStatus` of Apple's Security framework that means the same; nil where there is none.
    public var osStatus: Int? { ErrorTable.row(of: code).osStatus }
    /// The number of androidx.biometric that means the same, of `BiometricPrompt` or `BiometricManager`; nil where there is
    /// none.
    public var androidCode: Int? { ErrorTable.row(of: code).android }
}
