import KeychainModel
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("The test kit's software TPM")
struct SoftwareTPMTests {
    @Test("a numbered TPM is always the same one, certified by the test authority; other numbers differ")
    func certified() async throws {
        let chips = [
            try await SoftwareTPM.start(.certified(1)), try await SoftwareTPM.start(.certified(1)),
            try await SoftwareTPM.start(.certified(2)),
        ]
        let authority = try await SoftwareTPM.authority()
        #expect(authority.root.contains("BEGIN CERTIFICATE"))
        #expect(authority.issuer.contains("BEGIN CERTIFICATE"))
        var blobs: [[UInt8]] = []
        for chip in chips {
            blobs.append(try await TPMKeySealer(TPM(chip)).seal(authorization: .fixed(1)).blob)
        }
        // A copy has the same keys, but none of the indices.
        let copy = TPMKeySealer(TPM(chips[1]))
        #expect(await failure { try await copy.open(blobs[0], 1) }.cause == .missingIndex)
        #expect(await failure { try await copy.open(blobs[2], 1) }.cause == .otherHardware)
    }
}
