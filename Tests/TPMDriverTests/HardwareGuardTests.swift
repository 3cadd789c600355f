import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("An enrolment epoch in the TPM")
struct EpochTests {
    @Test("opens until the next one is made, and not again after its counter was made anew")
    func epochs() async throws {
        let chip = try await SoftwareTPM.start()
        let hardware = TPMHardwareGuard(TPM(configuration: chip.tcti))
        let first = try await hardware.makeEpoch()
        let opened = try await hardware.openEpoch(first.blob)
        let isSame = opened.matches(first.secret)
        #expect(isSame)
        let second = try await hardware.nextEpoch(after: first.blob)
        let error = await #expect(throws: KeychainError.self) { _ = try await hardware.openEpoch(first.blob) }
        #expect(error == KeychainError(.itemNotFound))
        #expect(error?.cause == .invalidated)
        let current = try await hardware.openEpoch(second.blob)
        let isCurrent = current.matches(second.secret)
        #expect(isCurrent)
        await hardware.destroyEpoch(second.blob)
        let gone = await #expect(throws: KeychainError.self) { _ = try await hardware.openEpoch(second.blob) }
        #expect(gone?.cause == .invalidated)
    }

    @Test("escrow")
    func escrow() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(configuration: chip.tcti)
        let hardware = TPMHardwareGuard(tpm)
        let blob = try await hardware.escrow(.fixed(7), authorization: .fixed(8))
        print("escrow blob", blob.count)
        let opened = try await hardware.openEscrow(blob, authorization: .fixed(8))
        let isSame = opened.matches(.fixed(7))
        #expect(isSame)
        let wrong = await #expect(throws: KeychainError.self) {
            _ = try await hardware.openEscrow(blob, authorization: .fixed(9))
        }
        #expect(wrong == KeychainError(.authFailed))
        await tpm.close()
        try await chip.reset()
        let gone = await #expect(throws: KeychainError.self) {
            _ = try await hardware.openEscrow(blob, authorization: .fixed(8))
        }
        #expect(gone == KeychainError(.itemNotFound))
        #expect(gone?.cause == .restarted)
    }
}
