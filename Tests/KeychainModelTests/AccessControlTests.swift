import Testing

@testable @_spi(AuthenticationEngine) import KeychainModel

@Suite("Access control")
struct AccessControlTests {
    private func control(_ flags: AccessControlFlags) throws -> AccessControl {
        try AccessControl(accessibility: .whenUnlocked, flags: flags)
    }

    private func proof(
        _ satisfied: Set<AccessConstraint>,
        operation: AccessOperation? = nil,
        isOfWeakSensor: Bool = false
    ) -> AuthenticationProof {
        AuthenticationProof(
            factors: [.biometry],
            satisfied: satisfied,
            operation: operation,
            time: BootTime(bootID: "run", nanoseconds: 0),
            context: ContextID(connection: 1, number: 1),
            passcodeKey: nil,
            isOfWeakSensor: isOfWeakSensor
        )
    }

    @Test(
        "contradictory flags are errSecParam",
        arguments: [
            [.or, .and, .biometryAny], [.biometryAny, .biometryCurrentSet], [.userPresence, .biometryAny],
            [.userPresence, .devicePasscode], [.userPresence, .or], [.userPresence, .strongSensor],
            AccessControlFlags(rawValue: 1 << 2),
        ] as [AccessControlFlags]
    )
    func contradictions(flags: AccessControlFlags) {
        #expect(throws: KeychainError(.param)) { try control(flags) }
    }

    @Test(
        "flags map to the factors that the user must show",
        arguments: [
            ([], nil), ([.applicationPassword], nil), ([.userPresence], .biometryOrPasscode),
            ([.biometryAny], .biometry), ([.biometryCurrentSet], .biometry), ([.devicePasscode], .passcode),
            ([.biometryAny, .or, .devicePasscode], .biometryOrPasscode),
            ([.biometryAny, .and, .devicePasscode], .biometryAndPasscode),
            ([.biometryCurrentSet, .devicePasscode], .biometryAndPasscode),
            ([.biometryAny, .or, .companion], .biometry),
        ] as [(AccessControlFlags, AuthenticationRequirement?)]
    )
    func requirements(flags: AccessControlFlags, expected: AuthenticationRequirement?) throws {
        let requirement = try control(flags).requirement()
        #expect(requirement == expected)
    }

    @Test(
        "a requirement that only a companion could meet is refused",
        arguments: [
            [.companion], [.companion, .and, .biometryAny],
        ] as [AccessControlFlags]
    )
    func companion(flags: AccessControlFlags) throws {
        let control = try control(flags)
        let decision = control.decide(given: [proof(Set(AccessConstraint.allCases))], operation: .useItem)
        #expect(decision == .denied(AuthenticationError(.companionNotAvailable)))
    }

    @Test("biometry shown for user presence does not satisfy a biometry requirement")
    func weakerProof() throws {
        let presence = try control([.userPresence])
        let strict = try control([.biometryCurrentSet])
        let given = [proof(presence.satisfied(by: [.biometry]))]
        #expect(presence.decide(given: given, operation: .useItem) == .granted)
        #expect(strict.decide(given: given, operation: .useItem) == .needs(.biometry))
    }

    @Test("biometry shown for any fingers does not satisfy the current-set requirement")
    func anyIsWeakerThanCurrentSet() throws {
        let any = try control([.biometryAny])
        let strict = try control([.biometryCurrentSet])
        let weak = [proof(any.satisfied(by: [.biometry]))]
        #expect(strict.decide(given: weak, operation: .useItem) == .needs(.biometry))
        let strong = [proof(strict.satisfied(by: [.biometry]))]
        #expect(any.decide(given: strong, operation: .useItem) == .granted)
    }

    @Test(
        "a finger on a weak sensor does not count where a strong one is wanted, and a passcode does",
        arguments: [
            [.biometryAny], [.biometryCurrentSet], [.biometryAny, .or, .devicePasscode],
            [.biometryCurrentSet, .and, .devicePasscode],
        ] as [AccessControlFlags]
    )
    func weakSensor(flags: AccessControlFlags) throws {
        let mild = try control(flags)
        let strict = try control(flags.union(.strongSensor))
        #expect(try strict.requirement() == mild.requirement())
        #expect(strict.constraints == mild.constraints && strict.bindsCurrentSet == mild.bindsCurrentSet)
        for factors in [[.biometry], [.passcode], [.biometry, .passcode]] as [Set<AuthenticationFactor>] {
            for satisfied in [strict.satisfied(by: factors), AuthenticationPolicy.satisfied(by: factors)] {
                for isWeak in [false, true] {
                    let given = [proof(satisfied, isOfWeakSensor: isWeak)]
                    let released = mild.decide(given: given, operation: .useItem) == .granted
                    let isPasscodeEnough = flags.contains(.or) && factors.contains(.passcode)
                    #expect(
                        (strict.decide(given: given, operation: .useItem) == .granted)
                            == (released && (!isWeak || isPasscodeEnough)),
                        "\(factors), \(isWeak)"
                    )
                }
            }
        }
        // A strong sensor's finger and a weak one's: one evaluation has to suffice.
        let finger = strict.satisfied(by: [.biometry, .passcode])
        let both = [proof(finger, isOfWeakSensor: true), proof(finger)]
        #expect(strict.decide(given: both, operation: .useItem) == .granted)
        #expect(try AccessControl(decoding: strict.encoded) == strict && strict != mild)
    }

    @Test("a proof counts for its own operation only; a policy's counts for all")
    func operations() throws {
        let strict = try control([.biometryAny])
        let forUse = [proof([.biometryAny, .userPresence], operation: .useItem)]
        #expect(strict.decide(given: forUse, operation: .useItem) == .granted)
        #expect(strict.decide(given: forUse, operation: .useKeySign) == .needs(.biometry))
        let policy = [proof(AuthenticationPolicy.satisfied(by: [.biometry]))]
        #expect(strict.decide(given: policy, operation: .useKeySign) == .granted)
    }

    @Test("two proofs of one factor each do not satisfy a requirement for both")
    func bothMeansOneEvaluation() throws {
        let both = try control([.biometryAny, .and, .devicePasscode])
        let halves = [proof(both.satisfied(by: [.biometry])), proof(both.satisfied(by: [.passcode]))]
        #expect(both.decide(given: halves, operation: .useItem) == .needs(.biometryAndPasscode))
        let whole = [proof(both.satisfied(by: [.biometry, .passcode]))]
        #expect(both.decide(given: whole, operation: .useItem) == .granted)
    }

    @Test("the encoding round-trips, and nothing else is accepted")
    func encoding() throws {
        let original = try AccessControl(
            accessibility: .whenPasscodeSetThisDeviceOnly,
            flags: [.biometryCurrentSet, .or, .devicePasscode]
        )
        let encoded = original.encoded
        #expect(try AccessControl(decoding: encoded) == original)
        for end in encoded.indices {
            #expect(throws: KeychainError(.param)) { try AccessControl(decoding: Array(encoded[..<end])) }
        }
        #expect(throws: KeychainError(.param)) { try AccessControl(decoding: encoded + [0]) }
        #expect(throws: KeychainError(.param)) {
            try AccessControl(decoding: [0x83, 2, 0x62, 0x61, 0x6B, 0])
        }
        #expect(throws: KeychainError(.param)) {
            try AccessControl(decoding: [0x83, 1, 0x62, 0x7A, 0x7A, 0])
        }
    }
}
