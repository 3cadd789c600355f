import CryptoKit
import Foundation
import Testing

@Suite("CryptoKit without a keychain")
struct ReexportTests {
    @Test("hashes, ciphers and software keys have Apple's names")
    func names() throws {
        #expect(CryptoKit.SHA256.hash(data: Data()).description.contains("e3b0c44298fc1c14"))
        let key = SymmetricKey(size: .bits256)
        let message = Data("meet me at the bridge".utf8)
        #expect(try AES.GCM.open(AES.GCM.seal(message, using: key), using: key) == message)
        #expect(try ChaChaPoly.open(ChaChaPoly.seal(message, using: key), using: key) == message)
        let code = HMAC<SHA512>.authenticationCode(for: message, using: key)
        #expect(HMAC<SHA512>.isValidAuthenticationCode(code, authenticating: message, using: key))
        let (p256, curve) = (P256.Signing.PrivateKey(), Curve25519.Signing.PrivateKey())
        #expect(p256.publicKey.isValidSignature(try p256.signature(for: message), for: message))
        #expect(curve.publicKey.isValidSignature(try curve.signature(for: message), for: message))
        _ = HKDF<SHA256>.deriveKey(inputKeyMaterial: key, outputByteCount: 32)
    }
}
