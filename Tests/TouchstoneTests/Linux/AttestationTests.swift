import Crypto
import Foundation
import Testing
import TouchstoneTesting
import WebAuthnModel

@testable import Touchstone

extension KeyEvidenceTests {
    @Test(
        "a chip attests a key with the server's challenge, and the attestation is stored with that key only"
    )
    func attested() async throws {
        let chip = try await SoftwareTPM.start(.blank)
        let keychain = try await PrivateKeychain.ready(tpm: chip.tcti)
        try await keychain.use {
            let challenge = Data((0..<32).map { UInt8($0) })
            let before = keychain.prompts
            let key = try await DeviceSigningKey.create("a", rule: .passcode, challenge: challenge)
            #expect(keychain.prompts == before + 1, "one use")
            let attestation = try #require(key.attestation)
            #expect(attestation.format == "touchstone-tpm2-key")
            let json = try #require(
                try JSONSerialization.jsonObject(with: attestation.statement) as? [String: Any]
            )
            let statement = try #require((json["statement"] as? String).flatMap(Base64URL.decode))
            // The chip signed the challenge with the purpose and the name.
            func holds(_ purpose: String, _ name: String) -> Bool {
                let binding = DeviceKeyBinding(challenge: Array(challenge), purpose: purpose, name: name)
                return statement.firstRange(of: Array(SHA256.hash(data: binding.message))) != nil
            }
            #expect(holds("Signing", "a") && !holds("Signing", "b") && !holds("Sealing", "a"))
            #expect(
                (json["publicKey"] as? String).flatMap(Base64URL.decode)
                    == Array(key.publicKey.x963Representation)
            )
            // The attestation key's signature: the last 64 bytes of its TPMT_PUBLIC are x and y, each after
            // its size.
            let area = try #require((json["attestationKey"] as? String).flatMap(Base64URL.decode))
            let point = Data([4] + area.suffix(66).prefix(32) + area.suffix(32))
            let signer = try P256.Signing.PublicKey(x963Representation: point)
            let raw = try #require((json["signature"] as? String).flatMap(Base64URL.decode))
            #expect(signer.isValidSignature(try .init(rawRepresentation: Data(raw)), for: Data(statement)))
            #expect(try await DeviceSigningKey.find("a").attestation == attestation)
            let successor = try await key.makeSuccessor(challenge: Data("other".utf8))
            #expect(successor.attestation != nil && successor.attestation != attestation)
            #expect(try await DeviceSigningKey.create("b", rule: .passcode).attestation == nil)
            for purpose in 0..<2 {
                // Keys for other purposes are attested too.
                if purpose == 0 {
                    let key = try await DeviceAgreementKey.create(
                        "c",
                        rule: .whenUnlocked,
                        challenge: challenge
                    )
                    #expect(key.attestation != nil)
                } else {
                    let key = try await DeviceSealingKey.create(
                        "c",
                        rule: .whenUnlocked,
                        challenge: challenge
                    )
                    #expect(key.attestation != nil)
                }
            }
        }
    }

    @Test("cancelling the attestation's prompt leaves no key")
    func cancelledStatement() async throws {
        let chip = try await SoftwareTPM.start(.blank)
        let keychain = try await PrivateKeychain.ready(tpm: chip.tcti)
        try await keychain.use {
            try keychain.tellPerson([.cancels])
            await #expect(throws: TouchstoneError(.userCancelled)) {
                try await DeviceSigningKey.create("a", rule: .passcode, challenge: Data(count: 8))
            }
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("a") }
        }
    }
}
