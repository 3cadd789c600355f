import Crypto
import Foundation
import KeychainModel
import TPMDriver
import Testing
import TouchstoneTesting

/// The cells: a chip as it was started, extended, restarted; another nonce, none, the longest, too long; another chip; a chip
/// without registers of SHA-256; a cleared one.
@Suite("A quote of the boot state")
struct BootQuoteTests {
    private let nonce = Array(SHA256.hash(data: Array("a server's nonce".utf8)))

    /// What PCRs 0 to 7 hold, read by tpm2-tools, and the digest over them.
    private func digest(_ world: KeyWorld) async throws -> [UInt8] {
        await world.tpm.close()
        let file = FileManager.default.temporaryDirectory.path + "/pcrs-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await TPM2Tools.run("pcrread", ["sha256:0,1,2,3,4,5,6,7", "-o", file], world.chip)
        let registers = try Data(contentsOf: URL(filePath: file))
        #expect(registers.count == 8 * 32)
        return Array(SHA256.hash(data: registers))
    }

    private func extend(_ register: Int, _ world: KeyWorld) async throws {
        await world.tpm.close()
        let value = String(repeating: "ab", count: 32)
        try await TPM2Tools.run("pcrextend", ["\(register):sha256=\(value)"], world.chip)
    }

    @Test("it is signed by the attestation key, with the nonce and the digest of PCRs 0 to 7")
    func quotes() async throws {
        let world = try await KeyWorld.start()
        let key = try RelyingParty.attestationKey(try await world.attester.attestationIdentity())
        for nonce in [nonce, [], [UInt8](repeating: 7, count: 64)] {
            let quote = try await world.attester.quote(nonce: nonce)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: quote.signature)
            #expect(key.isValidSignature(signature, for: quote.statement))
            let statement = try QuoteStatement(quote.statement)
            #expect(statement.extraData == nonce)
            #expect(statement.bank == 0x000B && statement.registers == [0xFF, 0, 0])
            let digest = try await digest(world)
            #expect(statement.digest == digest)
            #expect(quote.digest == statement.digest && quote.isWhole)
        }
        let long = await failure {
            _ = try await world.attester.quote(nonce: [UInt8](repeating: 1, count: 65))
        }
        #expect(long == KeychainError(.param))
    }

    @Test("what extends one of the registers changes the digest, until the next start; others do not")
    func extended() async throws {
        let world = try await KeyWorld.start()
        func digest() async throws -> [UInt8] { try await world.attester.quote(nonce: nonce).digest }
        let before = try await digest()
        try await extend(8, world)
        #expect(try await digest() == before)
        var seen: Set<[UInt8]> = [before]
        for register in 0...7 {
            try await extend(register, world)
            #expect(seen.insert(try await digest()).inserted, "PCR \(register)")
        }
        #expect(try await digest() == self.digest(world))
        await world.tpm.close()
        try await world.chip.reset()
        #expect(try await digest() == before)
    }

    @Test("another TPM's attestation key signs another quote, and so does the key after a clear")
    func others() async throws {
        let world = try await KeyWorld.start()
        let other = try await KeyWorld.start()
        let quote = try await other.attester.quote(nonce: nonce)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: quote.signature)
        let key = try RelyingParty.attestationKey(try await world.attester.attestationIdentity())
        #expect(!key.isValidSignature(signature, for: quote.statement))
        let before = try await world.attester.quote(nonce: nonce)
        await world.tpm.close()
        try await world.chip.clear()
        let cleared = try await world.attester.quote(nonce: nonce)
        let late = try P256.Signing.ECDSASignature(rawRepresentation: cleared.signature)
        #expect(!key.isValidSignature(late, for: cleared.statement))
        #expect(cleared.digest == before.digest)
    }

    @Test("a TPM without registers of SHA-256 quotes nothing, and its keys are attested all the same")
    func withoutBank() async throws {
        let world = try await KeyWorld.start()
        try await TPM2Tools.run("pcrallocate", ["sha1:all+sha256:none"], world.chip)
        await world.tpm.close()
        try await world.chip.reset()
        let error = await failure { _ = try await world.attester.quote(nonce: nonce) }
        #expect(error == KeychainError(.notAvailable))
        #expect(error.cause == DriverCause(domain: "tpm", code: "noBank"))
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let attestation = try await world.attester.attest(
            key.blob,
            authorization: .fixed(1),
            qualifyingData: nonce
        )
        try RelyingParty.check(attestation, nonce: nonce)
    }
}
