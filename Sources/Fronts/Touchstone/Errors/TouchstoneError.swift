/// The only error type of this module: a code to act on, the cause below it, and the next step.
///
/// `==` compares ``code`` alone, so that a test can name the error it expects. An error contains nothing
/// secret.
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
    /// The component that reported the error, such as `fprintd`, `tpm` or `keybag`; nil if this module did.
    public let part: String?
    /// The component's own name for the error, such as `NoSuchDevice`, for a log; nil if there is none.
    public let cause: String?
    /// What the user can do; ``advice(in:)`` has the sentence.
    public let nextStep: NextStep
    /// The time before another attempt is accepted, if known.
    public let retryAfter: Duration?
    /// For ``Code/fallbackChosen``: the number of the chosen fallback in ``PromptText/fallbacks``, from 0; nil if the prompt
    /// named none.
    public let fallbackIndex: Int?
    /// Details of the code: both rules of a ``Code/ruleMismatch``, the limit of a ``Code/limitExceeded``.
    public let details: [String]

    /// Makes an error, such as one to compare with in a test.
    ///
    /// - Parameters:
    ///   - code: The reason.
    ///   - part: The component that reported it.
    ///   - cause: The component's own name for it.
    public init(_ code: Code, part: String? = nil, cause: String? = nil) {
        self.init(code, part: part, cause: cause, nextStep: nil)
    }

    /// Makes an error with all details; a nil `nextStep` means the code's default.
    package init(
        _ code: Code,
        part: String? = nil,
        cause: String? = nil,
        nextStep: NextStep? = nil,
        retryAfter: Duration? = nil,
        fallbackIndex: Int? = nil,
        details: [String] = []
    ) {
        self.code = code
        self.part = part
        self.cause = cause
        self.nextStep = nextStep ?? ErrorTable.row(of: code).nextStep
        self.retryAfter = retryAfter
        self.fallbackIndex = fallbackIndex
        self.details = details
    }

    /// The error for a store or key that was made with another rule.
    static func mismatch(made: String, askedFor rule: AccessRule) -> TouchstoneError {
        TouchstoneError(.ruleMismatch, details: ["made with: \(made)", "asked for: \(rule)"])
    }

    /// The error for a value that exceeds a limit.
    static func limit(_ limit: String) -> TouchstoneError {
        TouchstoneError(.limitExceeded, details: [limit])
    }

    /// The error for a request that this keychain, rule or key cannot serve, and why.
    static func unsupported(_ why: String) -> TouchstoneError {
        TouchstoneError(.unsupported, details: [why])
    }
}

extension TouchstoneError: Hashable {
    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }

    /// Hashes the code alone.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension TouchstoneError: CustomStringConvertible {
    /// One line for a log, in English: the code, its message, the details, and the component with its cause.
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
    /// The corresponding number of Apple's `LAError.Code`; nil if there is none.
    public var laErrorCode: Int? { ErrorTable.row(of: code).laError }
    /// The corresponding `OSStatus` of Apple's Security framework; nil if there is none.
    public var osStatus: Int? { ErrorTable.row(of: code).osStatus }
    /// The corresponding number of androidx.biometric, from `BiometricPrompt` or `BiometricManager`; nil if there is none.
    public var androidCode: Int? { ErrorTable.row(of: code).android }
}
