import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("Commands of TPM private keys")
struct KeyCommandTests {
    /// TPM_CC (Part 2, section 6.5.2).
    private enum Code {
        static let (load, flush, startAuthSession, policyAuthValue) = (0x157, 0x165, 0x176, 0x16B)
        static let (create, createPrimary, sign, agree) = (0x153, 0x131, 0x15D, 0x154)
        static let (certify, activate, policySecret) = (0x148, 0x147, 0x151)
        static let (capability, readPublicIndex, readIndex) = (0x17A, 0x169, 0x14E)
    }

    /// The codes of the commands that `body` sends.
    private func commands(_ recorder: TPMRecorder, _ body: () async throws -> Void) async throws -> [Int] {
        let before = recorder.commands.count
        try await body()
        return recorder.commands[before...].map { Int($0.code) }
    }

    @Test(
        "commands are the fewest the policy allows: four per signature and agreement, one for a new key"
    )
    func counts() async throws {
        let chip = try await SoftwareTPM.start(.certified(1))
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let (keys, attester) = (TPMPrivateKeys(tpm), TPMKeyAttester(tpm))
        let key = try await keys.makeKey(authorization: .fixed(1))
        let create = try await commands(recorder) { _ = try await keys.makeKey(authorization: .fixed(1)) }
        #expect(create == [Code.create])
        let digest = [UInt8](repeating: 1, count: 32)
        let first = try await commands(recorder) {
            _ = try await keys.sign(digest: digest, with: key.blob, authorization: .fixed(1))
        }
        #expect(
            first == [Code.load, Code.startAuthSession, Code.policyAuthValue, Code.sign, Code.flush]
        )
        let use = [Code.load, Code.policyAuthValue]
        for _ in 0..<2 {
            let sign = try await commands(recorder) {
                _ = try await keys.sign(digest: digest, with: key.blob, authorization: .fixed(1))
            }
            #expect(sign == use + [Code.sign, Code.flush])
        }
        let agree = try await commands(recorder) {
            _ = try await keys.agree(with: key.publicKey, key: key.blob, authorization: .fixed(1))
        }
        #expect(agree == use + [Code.agree, Code.flush])
        let identity = try await commands(recorder) { _ = try await attester.attestationIdentity() }
        #expect(identity.filter { $0 == Code.readIndex }.count <= 3)
        #expect(
            identity.filter { $0 != Code.readIndex } == [
                Code.capability, Code.readPublicIndex, Code.createPrimary, Code.flush, Code.createPrimary,
                Code.flush,
            ]
        )
        let attest = try await commands(recorder) {
            _ = try await attester.attest(key.blob, authorization: .fixed(1), qualifyingData: [1])
        }
        #expect(attest == [Code.load, Code.createPrimary, Code.certify, Code.flush, Code.flush])
    }

    @Test("operations leave nothing loaded, whether they succeed or not")
    func handles() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let digest = [UInt8](repeating: 1, count: 32)
        try await world.expectToSign(key, .fixed(1))
        let before = try await world.tpm.loadedHandles()
        var offCurve = key.publicKey
        offCurve[64] ^= 1
        for _ in 0..<40 {
            _ = try await world.keys.makeKey(authorization: .fixed(1))
            _ = try await world.keys.sign(digest: digest, with: key.blob, authorization: .fixed(1))
            _ = try await world.keys.agree(with: key.publicKey, key: key.blob, authorization: .fixed(1))
            _ = try await world.attester.attest(key.blob, authorization: .fixed(1), qualifyingData: [])
            let wrong = await failure {
                _ = try await world.keys.sign(digest: digest, with: key.blob, authorization: .fixed(2))
            }
            #expect(wrong == KeychainError(.authFailed))
            let refused = await failure {
                _ = try await world.keys.agree(with: offCurve, key: key.blob, authorization: .fixed(1))
            }
            #expect(refused == KeychainError(.param))
            let unattested = await failure {
                _ = try await world.attester.attest(key.blob, authorization: .fixed(2), qualifyingData: [])
            }
            #expect(unattested == KeychainError(.authFailed))
            let challenge = ActivationChallenge(credential: [1], encryptedSecret: [1])
            let inactive = await failure { _ = try await world.attester.activate(challenge) }
            #expect(inactive == KeychainError(.decode))
        }
        #expect(try await world.tpm.loadedHandles() == before)
        await world.tpm.close()
        try await world.expectToSign(key, .fixed(1))
    }

    @Test(
        "a connection or power lost at any command is recovered from",
        arguments: 0..<5,
        [TPMRecorder.Treatment.loseAnswer, .powerOffBefore, .powerOffAfter]
    )
    func interruption(position: Int, loss: TPMRecorder.Treatment) async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let keys = TPMPrivateKeys(tpm)
        let world = KeyWorld(chip: chip, tpm: tpm, keys: keys, attester: TPMKeyAttester(tpm))
        let key = try await keys.makeKey(authorization: .fixed(1))
        let last = recorder.commands.count + position
        recorder.treat { [weak recorder] _ in recorder?.commands.count == last ? loss : .pass }
        let digest = [UInt8](repeating: 1, count: 32)
        // Whether this succeeds depends on whether the TPM still has power.
        _ = try? await keys.sign(digest: digest, with: key.blob, authorization: .fixed(1))
        #expect(recorder.commands.count > last)
        recorder.treat { _ in .pass }
        if loss != .loseAnswer { try await chip.powerOn() }
        try await world.expectToSign(key, .fixed(1))
        // The primary, the session and the policy session.
        #expect(try await tpm.loadedHandles().count == 3)
    }
}
