import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("A keybag's secret in the TPM")
struct KeySealerTests {
    @Test("comes back for the authorisation that it was sealed with, also after a restart")
    func unseals() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(configuration: chip.tcti)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        let secret = try await sealer.unseal(sealed.blob, authorization: .fixed(1))
        let isSame = secret.matches(sealed.secret)
        #expect(isSame)
        #expect(sealed.blob.count < 1024)
        await tpm.close()
        try await chip.reset()
        let again = try await sealer.unseal(sealed.blob, authorization: .fixed(1))
        let isSameAgain = again.matches(sealed.secret)
        #expect(isSameAgain)
    }

    @Test("is refused for another authorisation, ten times, and then for the right one too")
    func closesAfterTenGuesses() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(configuration: chip.tcti)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        for _ in 1...10 {
            let error = await #expect(throws: KeychainError.self) {
                _ = try await sealer.unseal(sealed.blob, authorization: .fixed(2))
            }
            #expect(error == KeychainError(.authFailed))
            #expect(error?.cause?.code.hasPrefix("0x9a2") == true)
        }
        let error = await #expect(throws: KeychainError.self) {
            _ = try await sealer.unseal(sealed.blob, authorization: .fixed(1))
        }
        #expect(error == KeychainError(.authFailed))
        #expect(error?.cause == .exhausted)
        #expect(error?.remedy == .recover)
        #expect(try await tpm.status().lockoutCounter == 0)
    }
}

extension SecretBytes {
    /// 32 octets that are all the same.
    static func fixed(_ octet: UInt8) -> SecretBytes {
        SecretBytes(copying: [UInt8](repeating: octet, count: 32))
    }
}
