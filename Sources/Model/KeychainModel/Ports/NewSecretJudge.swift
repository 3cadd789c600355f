public import SecretMemory

/// Says of a new secret how good it is, as often as it is asked.
public final class NewSecretJudge: Sendable, Equatable {
    /// What it says.
    public struct Verdict: Sendable, Equatable {
        /// How good it is: 0 to 100.
        public let percent: Int
        /// Why it is refused, a sentence; nil when it is taken.
        public let refusal: String?

        /// Reports a verdict.
        public init(percent: Int, refusal: String?) {
            self.percent = percent
            self.refusal = refusal
        }
    }

    /// What is asked for, one sentence with its reason.
    public let rule: String
    private let verdict: @Sendable (Span<UInt8>) -> Verdict

    /// Makes a judge.
    ///
    /// - Parameters:
    ///   - rule: what is asked for, one sentence with its reason.
    ///   - verdict: judges what was typed so far.
    public init(rule: String, _ verdict: @escaping @Sendable (Span<UInt8>) -> Verdict) {
        self.rule = rule
        self.verdict = verdict
    }

    /// Judges what was typed so far.
    public func judge(_ secret: borrowing SecretBytes) -> Verdict { secret.withOctets(verdict) }

    /// Compares identities.
    public static func == (lhs: NewSecretJudge, rhs: NewSecretJudge) -> Bool { lhs === rhs }
}
