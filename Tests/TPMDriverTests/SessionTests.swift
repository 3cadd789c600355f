import CTSS2
import KeychainModel
import Testing
import TouchstoneTesting

@testable import TPMDriver

@Suite("Sessions in the TPM")
struct SessionTests {
    @Test("idle sessions are flushed, and created again for the next use")
    func flushed() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(configuration: chip.tcti, sessionTime: .milliseconds(500))
        let sealer = TPMKeySealer(tpm)
        let blob = try await sealer.seal(authorization: .fixed(1)).blob
        for _ in 1...2 {
            try await sealer.open(blob, 1)
            #expect(try await tpm.loadedSessions() == 2)
            let count = await tpm.commandCount
            // Asking the TPM itself would count as a use.
            try await Deadline.wait(for: "two flushes") {
                await tpm.commandCount == count + 2 ? true : nil
            }
            #expect(try await tpm.loadedSessions() == 0)
        }
        await tpm.close()
    }
}

extension TPM {
    /// The number of sessions that the TPM reports as loaded.
    fileprivate func loadedSessions() throws -> Int {
        try withConnection { connection throws(TPMError) in
            try connection.handles(from: kTPM2_LOADED_SESSION_FIRST).count
        }
    }
}
