import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

// Serialized: each test searches all memory, and would find the other's copies.
@Suite("Secrets left in memory", .serialized)
struct ResidueTests {
    @Test("no copy of a secret or its authorisation is left once their owners release them")
    func nothingStays() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let inverted = try await use(sealer)
        for (name, octets) in inverted { #expect(ProcessMemory.count(ofInverted: octets) == 0, "\(name)") }
    }

    @Test("a secret that is still held is found (control)")
    func control() {
        let secret = SecretBytes.random(count: 32)
        let inverted = secret.withOctets { octets in octets.indices.map { ~octets[$0] } }
        #expect(ProcessMemory.count(ofInverted: inverted) == 1)
    }

    /// Seals and unseals, and returns the secrets used, bitwise inverted.
    private func use(_ sealer: TPMKeySealer) async throws -> [(String, [UInt8])] {
        let passcode = SecretBytes.random(count: 32)
        let sealed = try await sealer.seal(authorization: passcode)
        let secret = try await sealer.unseal(sealed.blob, authorization: passcode)
        func inverted(_ secret: borrowing SecretBytes) -> [UInt8] {
            secret.withOctets { octets in octets.indices.map { ~octets[$0] } }
        }
        return [
            ("secret", inverted(secret)), ("authorisation", inverted(passcode)),
        ]
    }
}
