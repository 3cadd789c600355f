import Crypto
import Foundation
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Key attestation and authentication codes", .timeLimit(.minutes(20)))
struct KeyEvidenceTests {
    @Test("without a chip there is no attestation, and a challenge above the limit creates no key")
    func refused() async throws {
        let world = try await World()
        try await world.use {
            let key = try await DeviceSigningKey.create("a", rule: .passcode, challenge: Data(count: 64))
            #expect(key.attestation == nil && world.prompts == 0)
            let error = await failure { () throws(TouchstoneError) in
                try await DeviceSigningKey.create("b", rule: .passcode, challenge: Data(count: 65))
            }
            #expect(error?.code == .limitExceeded && error?.details == ["challenge: at most 64 bytes"])
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("b") }
        }
    }

    @Test(
        "a code depends on message and key only, and each computation prompts",
        arguments: [nil, SoftwareTPM.Chip.blank]
    )
    func codes(chip: SoftwareTPM.Chip?) async throws {
        let tpm = if let chip { try await SoftwareTPM.start(chip) } else { SoftwareTPM?.none }
        let keychain = try await PrivateKeychain.ready(tpm: tpm?.tcti)
        try await keychain.use {
            let key = try await DeviceSealingKey.create("a", rule: .passcode)
            let before = keychain.prompts
            let code = try await key.authenticationCode(for: Data("m".utf8), "Sign in")
            #expect(code.count == 32 && keychain.prompts == before + 1)
            #expect(try await key.authenticationCode(for: Data("n".utf8)) != code)
            #expect(try await DeviceSealingKey.find("a").authenticationCode(for: Data("m".utf8)) == code)
            #expect(keychain.prompts == before + 3)
            let other = try await DeviceSealingKey.create("b", rule: .whenUnlocked)
            #expect(try await other.authenticationCode(for: Data("m".utf8)) != code)
            // As documented: HKDF over the secret with both public keys, then HMAC.
            let peer = try #require(other.peer)
            let secret = try await other.link.openingSecret(for: peer, with: other, .standard)
            let derived = secret.withBytes { secret in
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: SymmetricKey(data: secret),
                    info: Data("touchstone authentication code".utf8) + other.publicKey.x963Representation
                        + peer.x963Representation,
                    outputByteCount: 32
                )
            }
            let expected = Data(HMAC<SHA256>.authenticationCode(for: Data("m".utf8), using: derived))
            #expect(try await other.authenticationCode(for: Data("m".utf8)) == expected)
            // The key can still open sealed records.
            let record = try await other.seal(Data("secret".utf8))
            #expect(try await other.open(record) == Data("secret".utf8))
            try keychain.tellPerson([.cancels])
            await #expect(throws: TouchstoneError(.userCancelled)) {
                try await key.authenticationCode(for: Data("m".utf8))
            }
        }
    }

    @Test("a key record of an older version is decoded without attestation and code")
    func olderRecord() throws {
        let point = P256.Signing.PrivateKey().publicKey.x963Representation.base64EncodedString()
        let json = """
            {"need": "passcode", "acceptsLaterEnrolments": false, "acceptsWeakBiometry": false, \
            "protection": "software", "point": "\(point)", "created": 700000000, "representation": "AAAA"}
            """
        let record = try JSONDecoder().decode(KeyRecord.self, from: Data(json.utf8))
        #expect(record.attestation == nil)
        #expect(try record.codePeer() == nil)
    }
}
