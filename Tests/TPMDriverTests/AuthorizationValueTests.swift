import Crypto
import SecretMemory
import Testing

@testable import TPMDriver

@Suite("Authorisation values")
struct AuthorizationValueTests {
    // Keybags on TPMs are sealed with these values: a change would lock their owners out.
    @Test(
        "authorisation values are HKDF-SHA256 without a salt, with an odd last byte",
        arguments: AuthorizationValue.Entity.allCases
    )
    func derivation(_ entity: AuthorizationValue.Entity) {
        let secret = (0..<32).map { UInt8($0) }
        let value = AuthorizationValue.derive(entity, from: SecretBytes(copying: secret))
        let found = value.withOctets { octets in octets.indices.map { octets[$0] } }
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            info: Array("touchstone 1 tpm \(entity.rawValue)".utf8),
            outputByteCount: 32
        )
        var expected = key.withUnsafeBytes { Array($0) }
        expected[31] |= 1
        #expect(found == expected)
    }
}
