internal import Crypto
public import WebAuthnModel

/// Recomputes a policy's digest from its steps (TPM 2.0 Part 1, section 19.7).
public enum PolicyTranscript {
    /// TPM2_PolicyOR and TPM2_PolicyAuthorize restart the digest: earlier steps do not count (Part 3, sections 23.6 and
    /// 23.16).
    private static let beginsAnew: Set<UInt32> = [0x0000_0171, 0x0000_016A]

    /// The maximum number of steps, of operands per step, and of bytes per operand.
    private static let mostSteps = 16
    private static let mostOperands = 8
    private static let mostOperandBytes = 1024

    /// The digest of `steps` with SHA-256.
    public static func digest(of steps: [PolicyStep]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        for step in steps {
            if beginsAnew.contains(step.command) { digest = [UInt8](repeating: 0, count: 32) }
            let command = stride(from: 24, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: step.command >> UInt32($0))
            }
            digest = Array(SHA256.hash(data: digest + command + (step.operands.first ?? [])))
            for operand in step.operands.dropFirst() { digest = Array(SHA256.hash(data: digest + operand)) }
        }
        return digest
    }

    /// Parses steps from JSON: an array of `{"command": number, "operands": [base64url…]}`, as `touchstone attest`
    /// prints it.
    static func steps(_ json: JSONValue) throws(WebAuthnError) -> [PolicyStep] {
        let failure = WebAuthnError(.malformedResponse, "7.1 step 4", "keyPolicy")
        guard let values = json.array, values.count <= mostSteps else { throw failure }
        var steps: [PolicyStep] = []
        for value in values {
            guard let step = value.object, let number = step["command"]?.integer,
                let command = UInt32(exactly: number), let operands = step["operands"]?.array,
                operands.count <= mostOperands
            else { throw failure }
            let bytes = operands.compactMap(\.bytes)
            guard bytes.count == operands.count, bytes.allSatisfy({ $0.count <= mostOperandBytes }) else {
                throw failure
            }
            steps.append(PolicyStep(command: command, operands: bytes))
        }
        return steps
    }
}
