import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("Enrolment epochs in the TPM")
struct EpochTests {
    @Test("an epoch's secret opens until the next epoch is made, also after a restart")
    func epochs() async throws {
        let chip = try await SoftwareTPM.start()
        let hardware = TPMHardwareGuard(TPM(chip))
        let first = try await hardware.makeEpoch()
        #expect(try await hardware.openEpoch(first.blob).octets == first.secret.octets)
        try await chip.reset()
        #expect(try await hardware.openEpoch(first.blob).octets == first.secret.octets)
        let second = try await hardware.nextEpoch(after: first.blob)
        let error = await failure { _ = try await hardware.openEpoch(first.blob) }
        #expect(error == KeychainError(.itemNotFound))
        #expect(error.cause == .invalidated)
        #expect(try await hardware.openEpoch(second.blob).octets == second.secret.octets)
    }

    @Test("an epoch's secret stays unusable if its counter is deleted and recreated at the same index")
    func counterMadeAnew() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let hardware = TPMHardwareGuard(tpm)
        let first = try await hardware.makeEpoch()
        _ = try await hardware.nextEpoch(after: first.blob)
        try await hardware.destroyEpoch(first.blob)
        #expect(try await tpm.indices().isEmpty)
        #expect(await failure { _ = try await hardware.openEpoch(first.blob) }.cause == .invalidated)
        #expect(await failure { _ = try await hardware.nextEpoch(after: first.blob) }.cause == .invalidated)
        for _ in 1...3 {
            try await tpm.remakeCounter(of: first.blob)
            #expect(await failure { _ = try await hardware.openEpoch(first.blob) }.cause == .invalidated)
        }
    }

    @Test("an epoch's secret does not open on another TPM")
    func otherChip() async throws {
        let chip = try await SoftwareTPM.start()
        let other = try await SoftwareTPM.start()
        let epoch = try await TPMHardwareGuard(TPM(chip)).makeEpoch()
        let elsewhere = TPMHardwareGuard(TPM(other))
        #expect(await failure { _ = try await elsewhere.openEpoch(epoch.blob) }.cause == .invalidated)
    }
}

@Suite("A store's generation counter in the TPM")
struct GenerationTests {
    @Test("the generation increments by one, survives a power cut, and never decreases")
    func counts() async throws {
        let chip = try await SoftwareTPM.start()
        let hardware = TPMHardwareGuard(TPM(chip))
        let (counter, value) = try await hardware.makeGeneration()
        #expect(try await hardware.generation(counter) == value)
        for step in 1...3 {
            #expect(try await hardware.advanceGeneration(counter) == value + UInt64(step))
            try await chip.powerCut()
            #expect(try await hardware.generation(counter) == value + UInt64(step))
        }
        try await hardware.destroyGeneration(counter)
        let (_, later) = try await hardware.makeGeneration()
        #expect(later > value + 3)
    }

    @Test("a generation counter on a full TPM fails and takes up no space")
    func full() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let hardware = TPMHardwareGuard(tpm)
        let (counter, value) = try await hardware.makeGeneration()
        try await chip.fill()
        for _ in 1...3 {
            let error = await failure { _ = try await hardware.makeGeneration() }
            #expect(error == KeychainError(.diskFull))
            #expect(error.remedy == .check)
        }
        #expect(await failure { _ = try await hardware.makeEpoch() } == KeychainError(.diskFull))
        let sealer = TPMKeySealer(tpm)
        let error = await failure { _ = try await sealer.seal(authorization: .fixed(1)) }
        #expect(error == KeychainError(.diskFull))
        #expect(try await tpm.indices().count == 1)
        #expect(try await hardware.advanceGeneration(counter) == value + 1)
    }

    @Test("a missing counter is reported as another TPM's")
    func otherHardware() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let hardware = TPMHardwareGuard(tpm)
        let (counter, _) = try await hardware.makeGeneration()
        let other = try await SoftwareTPM.start()
        let elsewhere = TPMHardwareGuard(TPM(other))
        #expect(await failure { _ = try await elsewhere.generation(counter) }.cause == .otherHardware)
        try await hardware.destroyGeneration(counter)
        let error = await failure { _ = try await hardware.advanceGeneration(counter) }
        #expect(error == KeychainError(.decode))
        #expect(error.cause == .otherHardware)
        #expect(await failure { _ = try await hardware.generation([1, 2, 3]) } == KeychainError(.decode))
    }
}

@Suite("Escrow in the TPM")
struct EscrowTests {
    @Test("an escrow returns up to 64 bytes for the authorisation it was made with")
    func opens() async throws {
        let chip = try await SoftwareTPM.start()
        let hardware = TPMHardwareGuard(TPM(chip))
        for count in [1, 32, 64] {
            let secret = SecretBytes.random(count: count)
            let blob = try await hardware.escrow(secret, authorization: .fixed(8))
            #expect(try await hardware.openEscrow(blob, authorization: .fixed(8)).octets == secret.octets)
            let wrong = await failure { _ = try await hardware.openEscrow(blob, authorization: .fixed(9)) }
            #expect(wrong == KeychainError(.authFailed))
        }
        let long = await failure {
            _ = try await hardware.escrow(.random(count: 65), authorization: .fixed(8))
        }
        #expect(long == KeychainError(.dataTooLarge))
    }

    @Test("wrong authorisations of an escrow do not count towards the TPM's lockout")
    func noGuessLimit() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let hardware = TPMHardwareGuard(tpm)
        let blob = try await hardware.escrow(.fixed(7), authorization: .fixed(8))
        for _ in 1...5 {
            _ = await failure { _ = try await hardware.openEscrow(blob, authorization: .fixed(9)) }
        }
        #expect(try await tpm.status().lockoutCounter == 0)
    }

    @Test("an escrow is lost in a restart, orderly or not", arguments: [true, false])
    func restart(inOrder: Bool) async throws {
        let chip = try await SoftwareTPM.start()
        let hardware = TPMHardwareGuard(TPM(chip))
        let blob = try await hardware.escrow(.fixed(7), authorization: .fixed(8))
        if inOrder { try await chip.reset() } else { try await chip.powerCut() }
        let error = await failure { _ = try await hardware.openEscrow(blob, authorization: .fixed(8)) }
        #expect(error == KeychainError(.itemNotFound))
        #expect(error.cause == .restarted)
    }

    @Test("an altered escrow is refused, or gives the same secret")
    func changed() async throws {
        let chip = try await SoftwareTPM.start()
        let hardware = TPMHardwareGuard(TPM(chip))
        let blob = try await hardware.escrow(.fixed(7), authorization: .fixed(8))
        for position in stride(from: 0, to: blob.count, by: 5) {
            var octets = blob
            octets[position] ^= 0x40
            // The fields that name the TPM or the object are not authenticated, and altering them changes nothing.
            if let opened = try? await hardware.openEscrow(octets, authorization: .fixed(8)) {
                #expect(opened.octets == [UInt8](repeating: 7, count: 32))
            }
        }
        #expect(try await hardware.openEscrow(blob, authorization: .fixed(8)).count == 32)
    }
}
