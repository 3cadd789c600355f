@_spi(AuthenticationEngine) import KeychainModel

/// Makes all proofs; no other code does.
enum AuthenticationProofMaker {
    /// Makes the proof that `factors` were shown for `demand`.
    static func proof(
        of factors: Set<AuthenticationFactor>,
        for demand: EvaluationDemand,
        at time: BootTime,
        context: ContextID,
        passcodeKey: PasscodeKey?,
        isOfWeakSensor: Bool
    ) -> AuthenticationProof {
        AuthenticationProof(
            factors: factors,
            satisfied: demand.satisfied(by: factors),
            operation: demand.operation,
            time: time,
            context: context,
            passcodeKey: factors.contains(.passcode) ? passcodeKey : nil,
            isOfWeakSensor: factors.contains(.biometry) && isOfWeakSensor
        )
    }
}
