import KeychainModel
import SecretMemory
@_spi(Testing) import TPMDriver
import Testing
import TouchstoneTesting

@Suite("Assurance of a TPM")
struct AssuranceTests {
    @Test("a simulator is reported as a test part, whatever its properties, also with an older state")
    func simulator() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        #expect(await sealer.assurance(of: nil).assurance == .test)
        #expect(await sealer.assurance(of: nil).reasons.first?.contains("simulator") == true)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        let older = try await chip.copyState()
        for _ in 1...10 { _ = await failure { try await sealer.open(sealed.blob, 2) } }
        try await tpm.setLockoutAuthorization(.fixed(9))
        try await chip.restoreState(older)
        // The simulator's state is files: whoever copies them can reset the count of guesses.
        try await sealer.open(sealed.blob, 1)
        #expect(await sealer.assurance(of: nil).assurance == .test)
    }

    @Test("an empty lockout authorisation makes the assurance weak, with the guesses per day in words")
    func weak() async throws {
        let chip = try await SoftwareTPM.start()
        try await chip.setGuessLimit(32, interval: 7200)
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm, treatsSimulatorAsReal: true)
        let before = await sealer.assurance(of: nil)
        #expect(before.assurance == .tpmWeak)
        #expect(before.reasons.contains { $0.contains("44 guesses in the first day and 12 on each") })
        #expect(before.reasons.contains { $0.contains("lockout authorization is empty") })
        try await tpm.setLockoutAuthorization(.fixed(9))
        let after = await sealer.assurance(of: nil)
        #expect(after.assurance == .tpm)
        #expect(!after.reasons.contains { $0.contains("is empty") })
    }

    @Test("the TPM's properties are those that tpm2-tools shows")
    func properties() async throws {
        let chip = try await SoftwareTPM.start()
        try await chip.setGuessLimit(7, interval: 11, recovery: 13)
        let tpm = TPM(chip)
        let status = try await tpm.status()
        #expect(status.manufacturer == "IBM")
        #expect(status.vendor == "SW   TPM")
        #expect(!status.firmware.isEmpty)
        #expect(status.isSimulator)
        #expect((status.maxAuthFail, status.lockoutInterval, status.lockoutRecovery) == (7, 11, 13))
        #expect(!status.lockoutAuthSet && !status.ownerAuthSet && !status.inLockout)
        #expect(status.freeCounters > 0)
        try await chip.setOwnerAuthorization([1])
        #expect(try await tpm.status().ownerAuthSet)
    }

    @Test("a TPM with an owner authorisation has no assurance, and the report names the reason")
    func ownerAuthorization() async throws {
        let chip = try await SoftwareTPM.start()
        try await chip.setOwnerAuthorization([1])
        let report = await TPMKeySealer(TPM(chip)).assurance(of: nil)
        #expect(report.assurance == .test)
        #expect(report.reasons.first?.contains("owner authorization is set") == true)
    }

    @Test("a TPM that does not respond has no assurance, and the report says so")
    func noChip() async {
        let report = await TPMKeySealer(TPM(configuration: "device:/nowhere")).assurance(of: nil)
        #expect(report.assurance == .test)
        #expect(report.reasons.first?.contains("does not answer") == true)
    }
}

@Suite("The lockout authorisation")
struct LockoutAuthorizationTests {
    @Test("the lockout authorisation is set once; a second time is refused without a guess")
    func setOnce() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        try await tpm.setLockoutAuthorization(.fixed(9))
        #expect(try await tpm.status().lockoutAuthSet)
        recorder.forget()
        let error = await failure { try await tpm.setLockoutAuthorization(.fixed(8)) }
        #expect(error == KeychainError(.duplicateItem))
        #expect(error.cause == .lockoutAuthorizationSet)
        // TPM2_GetCapability only.
        #expect(recorder.commands.map(\.code) == [0x17A])
        await #expect(throws: TestKitError.self) { try await chip.setGuessLimit(100) }
    }

    @Test("the lockout authorisation is set even if the response is lost")
    func lostAnswer() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        recorder.treatOnce(0x129, as: .loseAnswer)
        try await tpm.setLockoutAuthorization(.fixed(9))
        #expect(try await tpm.status().lockoutAuthSet)
    }

    @Test("an authorisation that is empty, too long or ends in a zero byte is refused")
    func unusable() async throws {
        let tpm = TPM(configuration: "device:/nowhere")
        for octets in [[], [1, 2, 0], [UInt8](repeating: 1, count: 33)] {
            #expect(
                await failure { try await tpm.setLockoutAuthorization(SecretBytes(copying: octets)) }
                    == KeychainError(.param)
            )
        }
    }
}
