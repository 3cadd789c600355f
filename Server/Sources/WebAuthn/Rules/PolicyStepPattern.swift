internal import WebAuthnModel

/// A pattern for one step of a policy.
public struct PolicyStepPattern: Sendable, Equatable {
    /// TPM_CC of the policy command.
    public let command: UInt32
    /// The operands; nil: any.
    public let operands: [[UInt8]]?

    /// Creates a pattern for a command, with the given operands or any.
    public init(command: UInt32, operands: [[UInt8]]? = nil) {
        self.command = command
        self.operands = operands
    }

    /// TPM2_PolicyAuthValue: using the key requires its authorisation value.
    public static let authValue = PolicyStepPattern(command: PolicyStep.authValue.command, operands: [])

    static func matches(_ steps: [PolicyStep], _ patterns: [PolicyStepPattern]) -> Bool {
        steps.count == patterns.count
            && zip(steps, patterns).allSatisfy { step, pattern in
                step.command == pattern.command && (pattern.operands ?? step.operands) == step.operands
            }
    }
}
