/// One step of the policy that a key needs: a TPM policy command and its operands.
///
/// A policy is recomputed from its steps, starting with as many zero bytes as the hash has (TPM 2.0 Part 1, section
/// 19.7): `policy = H(policy ‖ command ‖ operands[0])`, then `policy = H(policy ‖ operand)` for each further operand.
/// So `TPM2_PolicyAuthValue` has none, `TPM2_PolicySecret` two: the entity's name and the reference.
public struct PolicyStep: Sendable, Hashable {
    /// TPM_CC of the policy command.
    public let command: UInt32
    /// The operands hashed after the command's number.
    public let operands: [[UInt8]]

    /// Describes a step.
    public init(command: UInt32, operands: [[UInt8]] = []) {
        self.command = command
        self.operands = operands
    }

    /// The caller must know the key's authorisation.
    public static let authValue = PolicyStep(command: 0x0000_016B)
}
