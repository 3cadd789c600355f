import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import TPMDriver

@Suite("Guessing limits of the TPM")
struct GuessingTests {
    @Test("ten wrong passcodes close the keybag, and the TPM's dictionary attack counter stays 0")
    func tenGuesses() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        for _ in 1...10 {
            let error = await failure { try await sealer.open(sealed.blob, 2) }
            #expect(error == KeychainError(.authFailed))
            #expect(error.cause?.domain == "tpm")
            #expect(error.cause?.code.hasPrefix("0x9a2") == true)
            #expect(error.remedy == nil)
        }
        let error = await failure { try await sealer.open(sealed.blob, 1) }
        #expect(error == KeychainError(.authFailed))
        #expect(error.cause == .exhausted)
        #expect(error.remedy == .recover)
        #expect(try await tpm.status().lockoutCounter == 0)
    }

    @Test("the correct passcode resets the count")
    func successResets() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        for _ in 1...3 {
            for _ in 1...9 { _ = await failure { try await sealer.open(sealed.blob, 2) } }
            try await sealer.open(sealed.blob, 1)
        }
        #expect(try await tpm.status().lockoutCounter == 0)
    }

    @Test("a power cut after each guess gives none back")
    func powerCuts() async throws {
        let chip = try await SoftwareTPM.start()
        let sealer = TPMKeySealer(TPM(chip))
        let sealed = try await sealer.seal(authorization: .fixed(1))
        for _ in 1...10 {
            #expect(await failure { try await sealer.open(sealed.blob, 2) } == KeychainError(.authFailed))
            try await chip.powerCut()
        }
        #expect(await failure { try await sealer.open(sealed.blob, 1) }.cause == .exhausted)
    }

    @Test("an index recreated by the owner with another PIN opens nothing")
    func forgedIndex() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        try await tpm.forgeIndex(of: sealed.blob, pin: .fixed(2))
        let error = await failure { try await sealer.open(sealed.blob, 2) }
        #expect(error == KeychainError(.authFailed))
        #expect(error.cause?.code.hasPrefix("0x98e") == true)
        #expect(try await tpm.status().lockoutCounter == 1)
    }

    @Test("an index cannot be written twice")
    func indexIsWrittenOnce() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        for _ in 1...10 { _ = await failure { try await sealer.open(sealed.blob, 2) } }
        await #expect(throws: TPMError.self) { try await tpm.rewriteIndex(of: sealed.blob) }
        #expect(await failure { try await sealer.open(sealed.blob, 1) }.cause == .exhausted)
    }

    @Test("a TPM in lockout reports the remaining time; its keybags stay closed and lose no tries")
    func lockout() async throws {
        let chip = try await SoftwareTPM.start()
        try await chip.setGuessLimit(2, interval: 2, recovery: 2)
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let hardware = TPMHardwareGuard(tpm)
        let victim = try await sealer.seal(authorization: .fixed(1))
        let epoch = try await hardware.makeEpoch()
        let burnt = try await sealer.seal(authorization: .fixed(3))
        try await tpm.forgeIndex(of: burnt.blob, pin: .fixed(4))
        for _ in 1...2 { _ = await failure { try await sealer.open(burnt.blob, 4) } }
        #expect(try await tpm.status().inLockout)
        let error = await failure { try await sealer.open(victim.blob, 1) }
        #expect(error == KeychainError(.notAvailable))
        #expect(error.cause == .chipLockout)
        #expect(error.remedy == .wait(seconds: 2))
        #expect(await failure { try await sealer.open(victim.blob, 2) } == KeychainError(.authFailed))
        let counting = await failure { _ = try await sealer.countedFailures(of: victim.blob) }
        #expect(counting.cause == .chipLockout && counting.remedy == .wait(seconds: 2))
        _ = try await hardware.openEpoch(epoch.blob)
        _ = try await sealer.seal(authorization: .fixed(5))
        let opened = try await Deadline.wait(for: "the end of the lockout") {
            try? await sealer.unseal(victim.blob, authorization: .fixed(1)).octets
        }
        #expect(opened == victim.secret.octets)
    }
}
