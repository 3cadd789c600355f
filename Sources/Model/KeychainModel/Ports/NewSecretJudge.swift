public import SecretMemory

/// Rates a new secret, repeatedly while it is typed.
public final class NewSecretJudge: Sendable, Equatable {
    /// A rating.
    public struct Verdict: Sendable, Equatable {
        /// The strength: 0 to 100.
        public let percent: Int
        /// Why the secret is refused, as a sentence; nil if it is accepted.
        public let refusal: String?

        /// Reports a verdict.
        public init(percent: Int, refusal: String?) {
            self.percent = percent
            self.refusal = refusal
        }
    }

    /// The requirement, as one sentence with its reason.
    public let rule: String
    private let verdict: @Sendable (Span<UInt8>) -> Verdict

    /// Creates a judge.
    ///
    /// - Parameters:
    ///   - rule: the requirement, as one sentence with its reason.
    ///   - verdict: rates the text typed so far.
    public init(rule: String, _ verdict: @escaping @Sendable (Span<UInt8>) -> Verdict) {
        self.rule = rule
        self.verdict = verdict
    }

    /// Rates the text typed so far.
    public func judge(_ secret: borrowing SecretBytes) -> Verdict { secret.withOctets(verdict) }

    /// Compares identities.
    public static func == (lhs: NewSecretJudge, rhs: NewSecretJudge) -> Bool { lhs === rhs }
}
