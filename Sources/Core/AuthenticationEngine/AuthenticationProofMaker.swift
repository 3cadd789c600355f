@_spi(AuthenticationEngine) import KeychainModel

/// The one place that makes proofs.
enum AuthenticationProofMaker {
    /// A proof of what was shown for `demand`.
    static func proof(
        of factors: Set<AuthenticationFactor>,
        for demand: EvaluationDemand,
        at time: BootTime,
        context: ContextID,
        passcodeKey: PasscodeKey?
    ) -> AuthenticationProof {
        AuthenticationProof(
            factors: factors,
            satisfied: demand.satisfied(by: factors),
            operation: demand.operation,
            time: time,
            context: context,
            passcodeKey: factors.contains(.passcode) ? passcodeKey : nil
        )
    }
}
