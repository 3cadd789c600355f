import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("Sealing a keybag's secret with the TPM")
struct KeySealerTests {
    @Test("a secret is unsealed by the authorisation it was sealed with, also after a restart")
    func unseals() async throws {
        let chip = try await SoftwareTPM.start()
        let sealer = TPMKeySealer(TPM(chip))
        let sealed = try await sealer.seal(authorization: .fixed(1))
        #expect(try await sealer.unseal(sealed.blob, authorization: .fixed(1)).octets == sealed.secret.octets)
        #expect(sealed.blob.count <= 4096)
        try await chip.reset()
        #expect(try await sealer.unseal(sealed.blob, authorization: .fixed(1)).octets == sealed.secret.octets)
    }

    @Test("each sealed secret is new, with its own authorisation and its own count")
    func areIndependent() async throws {
        let chip = try await SoftwareTPM.start()
        let sealer = TPMKeySealer(TPM(chip))
        let first = try await sealer.seal(authorization: .fixed(1))
        let second = try await sealer.seal(authorization: .fixed(2))
        #expect(first.secret.octets != second.secret.octets)
        for _ in 1...TPMKeySealer.attempts {
            #expect(await failure { try await sealer.open(first.blob, 2) } == KeychainError(.authFailed))
        }
        #expect(await failure { try await sealer.open(first.blob, 1) }.cause == .exhausted)
        try await sealer.open(second.blob, 2)
    }

    @Test("a destroyed secret opens nothing, and its space in the TPM is freed")
    func destroyed() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let old = try await sealer.seal(authorization: .fixed(1))
        let new = try await sealer.seal(authorization: .fixed(2))
        #expect(try await tpm.indices().count == 2)
        try await sealer.destroy(old.blob)
        try await sealer.destroy(old.blob)
        #expect(try await tpm.indices().count == 1)
        let error = await failure { try await sealer.open(old.blob, 1) }
        #expect(error == KeychainError(.decode))
        #expect(error.cause == .missingIndex)
        #expect(error.remedy == .recover)
        try await sealer.open(new.blob, 2)
    }

    @Test("another TPM refuses a sealed secret without using up a try")
    func otherChip() async throws {
        let chip = try await SoftwareTPM.start()
        let other = try await SoftwareTPM.start()
        let sealer = TPMKeySealer(TPM(chip))
        let sealed = try await sealer.seal(authorization: .fixed(1))
        let elsewhere = TPMKeySealer(TPM(other))
        for _ in 0...TPMKeySealer.attempts {
            let error = await failure { try await elsewhere.open(sealed.blob, 1) }
            #expect(error == KeychainError(.decode))
            #expect(error.cause == .otherHardware)
        }
        #expect(await failure { try await elsewhere.destroy(sealed.blob) }.cause == .otherHardware)
        try await sealer.open(sealed.blob, 1)
    }

    @Test("a cleared TPM refuses a sealed secret, and creates nothing in its place")
    func cleared() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        await tpm.close()
        try await chip.clear()
        #expect(await failure { try await sealer.open(sealed.blob, 1) }.cause == .otherHardware)
        #expect(try await tpm.indices().isEmpty)
    }

    @Test("a damaged, truncated, overlong or wrong-type blob is refused without a command")
    func damaged() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let blob = try await sealer.seal(authorization: .fixed(1)).blob
        let epoch = try await TPMHardwareGuard(tpm).makeEpoch().blob
        let commands = await tpm.commandCount
        var damaged = [[], Array(blob.dropLast()), blob + [0], epoch, [UInt8](repeating: 0x81, count: 5000)]
        damaged += (0..<blob.count).filter { $0 < 4 }.map { Array(blob[..<$0]) + [0xFF] + blob[($0 + 1)...] }
        for octets in damaged {
            #expect(await failure { try await sealer.open(octets, 1) } == KeychainError(.decode))
        }
        #expect(await tpm.commandCount == commands)
    }

    @Test("altered blobs are refused; afterwards the original still opens, and nothing more stays loaded")
    func changedOctets() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        try await chip.setGuessLimit(1000)
        let sealer = TPMKeySealer(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        for position in stride(from: 0, to: sealed.blob.count, by: 7) {
            var octets = sealed.blob
            octets[position] ^= 0x10
            _ = await failure { try await sealer.open(octets, 1) }
        }
        try await sealer.open(sealed.blob, 1)
        #expect(try await tpm.loadedHandles().count == 3)
    }

    @Test("sealing on a TPM with an owner authorisation fails with an error that says so")
    func ownerAuthorization() async throws {
        let chip = try await SoftwareTPM.start()
        try await chip.setOwnerAuthorization([1, 2, 3])
        let error = await failure { _ = try await TPMKeySealer(TPM(chip)).seal(authorization: .fixed(1)) }
        #expect(error == KeychainError(.notAvailable))
        #expect(error.cause == .ownerAuthorizationSet)
    }

    @Test("without a TPM the error is that it does not answer, with the transport's own code for the log")
    func noChip() async throws {
        let error = await failure {
            _ = try await TPMKeySealer(TPM(configuration: "device:/nowhere")).seal(authorization: .fixed(1))
        }
        #expect(error == KeychainError(.notAvailable))
        #expect(error.cause?.known == .silentHardware)
        #expect(error.cause?.detail?.hasPrefix("0xa") == true)
    }

    @Test(
        "a library that a transport's name asks for is never loaded",
        arguments: ["", "pcap:swtpm", "/tmp/evil.so:x", "cmd:sh"]
    )
    func unknownTransports(configuration: String) async throws {
        let error = await failure {
            _ = try await TPMKeySealer(TPM(configuration: configuration)).seal(authorization: .fixed(1))
        }
        #expect(error.cause == .unknownTransport)
    }
}
