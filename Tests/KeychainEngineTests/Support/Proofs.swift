@_spi(AuthenticationEngine) import KeychainModel

/// Proofs as the authentication engine would issue them; possible only in tests.
enum Proofs {
    static func of(
        _ control: AccessControl,
        _ factors: Set<AuthenticationFactor>,
        key: PasscodeKey? = nil,
        operation: AccessOperation? = .useItem
    ) -> AuthenticationProof {
        AuthenticationProof(
            factors: factors,
            satisfied: control.satisfied(by: factors),
            operation: operation,
            time: BootTime(bootID: "tests", nanoseconds: 1),
            context: ContextID(connection: 1, number: 1),
            passcodeKey: factors.contains(.passcode) ? key : nil,
            isOfWeakSensor: false
        )
    }

    /// A proof that claims everything and contains no key.
    static let forged = AuthenticationProof(
        factors: [.biometry, .passcode],
        satisfied: Set(AccessConstraint.allCases),
        operation: nil,
        time: BootTime(bootID: "tests", nanoseconds: 1),
        context: ContextID(connection: 1, number: 1),
        passcodeKey: nil,
        isOfWeakSensor: false
    )
}
