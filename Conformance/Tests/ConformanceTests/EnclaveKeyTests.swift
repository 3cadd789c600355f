// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import LocalAuthentication
import Security
import Testing

extension KeyRing {
    /// Creates a key in the secure hardware.
    func makeInEnclave(
        _ flags: SecAccessControlCreateFlags = .privateKeyUsage,
        _ more: [CFString: Any] = [:]
    ) throws -> SecKey {
        let half: [CFString: Any] = [
            kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag,
            kSecAttrAccessControl: rules(flags) as Any,
        ]
        return try make(
            kSecAttrKeyTypeECSECPrimeRandom,
            256,
            [
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                kSecPrivateKeyAttrs: half.merging(more) { $1 },
            ]
        )
    }
}

@Suite("Rules 3 and 10: keys in secure hardware", .keychain)
struct EnclaveKeyTests {
    private let ring = KeyRing()
    private let message = Data("a message".utf8) as CFData
    private let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256

    @Test("a hardware key signs, agrees and decrypts, and its private half cannot be exported")
    func uses() throws {
        let made = try ring.makeInEnclave()
        let publicKey = try #require(SecKeyCopyPublicKey(made))
        let signature = try key { SecKeyCreateSignature(made, algorithm, message, $0) }
        #expect(SecKeyVerifySignature(publicKey, algorithm, message, signature, nil))
        let encryption = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
        let sealed = try key { SecKeyCreateEncryptedData(publicKey, encryption, message, $0) }
        #expect(try key { SecKeyCreateDecryptedData(made, encryption, sealed, $0) } == message)
        let other = try ring.make()
        let others = try #require(SecKeyCopyPublicKey(other))
        let none = [:] as CFDictionary
        let agreed = try key { SecKeyCopyKeyExchangeResult(made, .ecdhKeyExchangeStandard, others, none, $0) }
        let back = try key {
            SecKeyCopyKeyExchangeResult(other, .ecdhKeyExchangeStandard, publicKey, none, $0)
        }
        #expect(agreed == back)
        #expect(failure { SecKeyCopyExternalRepresentation(made, $0) } != nil)
        #expect(failure { SecKeyCopyExternalRepresentation(publicKey, $0) } == nil)
    }

    @Test("a hardware key is permanent unless the query says otherwise, and is found by its tag")
    func permanent() throws {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecUseDataProtectionKeychain: true,
            kSecPrivateKeyAttrs: [
                kSecAttrApplicationTag: ring.tag, kSecAttrAccessControl: rules(.privateKeyUsage) as Any,
            ] as [CFString: Any],
        ]
        let made = try key { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
        let found = try #require(ring.copy([kSecReturnRef: true]).result)
        #expect(CFEqual(found, made))
        let attributes = try #require(ring.copy([kSecReturnAttributes: true]).result as? [String: Any])
        #expect(attributes["tkid"] as? String == "com.apple.setoken")
        let again = found as! SecKey
        let signature = try key { SecKeyCreateSignature(again, algorithm, message, $0) }
        let verifier = try #require(SecKeyCopyPublicKey(made))
        #expect(SecKeyVerifySignature(verifier, algorithm, message, signature, nil))
        #expect(SecItemDelete(ring.query()) == errSecSuccess)
        #expect(ring.copy([:]).status == errSecItemNotFound)
    }

    @Test(
        "a hardware key moves to a second group with its item, and is then used through that group only",
        .enabled(if: TestKeychain.group != nil, "no second group was granted")
    )
    func moved() throws {
        let second: [CFString: Any] = [kSecAttrAccessGroup: try #require(TestKeychain.group)]
        let made = try ring.makeInEnclave()
        let attributes = try #require(ring.copy([kSecReturnAttributes: true]).result as? [CFString: Any])
        let first: [CFString: Any] = [kSecAttrAccessGroup: try #require(attributes[kSecAttrAccessGroup])]
        #expect(SecItemUpdate(ring.query(first), second as CFDictionary) == errSecSuccess)
        #expect(ring.copy(first.merging([kSecReturnRef: true]) { $1 }).status == errSecItemNotFound)
        let found = try #require(ring.copy(second.merging([kSecReturnRef: true]) { $1 }).result)
        #expect(CFEqual(found, made))
        let signature = try key { SecKeyCreateSignature(found as! SecKey, algorithm, message, $0) }
        let verifier = try #require(SecKeyCopyPublicKey(made))
        #expect(SecKeyVerifySignature(verifier, algorithm, message, signature, nil))
    }

    @Test("a hardware key shows the access control it was created with, whichever results are requested")
    func accessControl() throws {
        for flags: SecAccessControlCreateFlags in [
            .privateKeyUsage, [.privateKeyUsage, .userPresence], [.privateKeyUsage, .devicePasscode],
        ] {
            let ring = KeyRing()
            _ = try ring.makeInEnclave(flags)
            let returns: [[CFString: Any]] = [
                [kSecReturnAttributes: true], [kSecReturnAttributes: true, kSecReturnRef: true],
            ]
            for asked in returns {
                let attributes = try #require(ring.copy(asked).result as? [CFString: Any])
                let shown = try #require(attributes[kSecAttrAccessControl])
                #expect(CFEqual(shown as CFTypeRef, rules(flags)))
            }
        }
    }

    @Test("a hardware key of another size than 256 bits is refused", arguments: [192, 384, 521])
    func size(bits: Int) {
        #expect(throws: (any Error).self) {
            try ring.make(
                kSecAttrKeyTypeECSECPrimeRandom,
                bits,
                [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave]
            )
        }
        #expect(throws: (any Error).self) {
            try ring.make(kSecAttrKeyTypeRSA, 2048, [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave])
        }
    }

    @Test("an existing key cannot be imported into the hardware")
    func imported() throws {
        let made = try ring.make()
        let octets = try key { SecKeyCopyExternalRepresentation(made, $0) }
        let attributes: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
        ]
        #expect(failure { SecKeyCreateWithData(octets, attributes as CFDictionary, $0) } != nil)
    }
}

/// In ``AuthenticationTests`` because only one prompt is shown at a time.
extension AuthenticationTests {
    @Test(
        "a hardware key prompts for signing and decrypting, not for its public key, a search or deletion"
    )
    func enclaveKey() async throws {
        let ring = KeyRing()
        let message = Data("a message".utf8) as CFData
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        let encryption = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
        try await expectPrompts(0) {
            let made = try ring.makeInEnclave([.privateKeyUsage, .userPresence])
            let publicKey = try #require(SecKeyCopyPublicKey(made))
            #expect(SecKeyCreateEncryptedData(publicKey, encryption, message, nil) != nil)
            #expect(ring.copy([kSecReturnRef: true]).status == errSecSuccess)
        }
        let found = try #require(ring.copy([kSecReturnRef: true]).result)
        let made = found as! SecKey
        let publicKey = try #require(SecKeyCopyPublicKey(made))
        try await expectPrompts(1) {
            let signature = try key { SecKeyCreateSignature(made, algorithm, message, $0) }
            #expect(SecKeyVerifySignature(publicKey, algorithm, message, signature, nil))
        }
        let sealed = try key { SecKeyCreateEncryptedData(publicKey, encryption, message, $0) }
        try await TestKeychain.tellPerson(cancel: 1)
        #expect(failure { SecKeyCreateDecryptedData(made, encryption, sealed, $0) } != nil)
        try await expectPrompts(1) {
            let opened = try key { SecKeyCreateDecryptedData(made, encryption, sealed, $0) }
            #expect(opened == message)
        }
        try await expectPrompts(0) { #expect(SecItemDelete(ring.query()) == errSecSuccess) }
    }

    @Test(
        "a hardware key that requires the user shows a prompt before it moves to another group",
        .enabled(if: TestKeychain.group != nil, "no second group was granted")
    )
    func movedEnclaveKey() async throws {
        let ring = KeyRing()
        let message = Data("a message".utf8) as CFData
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        let made = try ring.makeInEnclave([.privateKeyUsage, .userPresence])
        let second: [CFString: Any] = [kSecAttrAccessGroup: try #require(TestKeychain.group)]
        try await TestKeychain.tellPerson(cancel: 1)
        #expect(SecItemUpdate(ring.query(), second as CFDictionary) == errSecUserCanceled)
        try await expectPrompts(2) {
            #expect(SecItemUpdate(ring.query(), second as CFDictionary) == errSecSuccess)
            let found = try #require(ring.copy(second.merging([kSecReturnRef: true]) { $1 }).result)
            let signature = try key { SecKeyCreateSignature(found as! SecKey, algorithm, message, $0) }
            let verifier = try #require(SecKeyCopyPublicKey(made))
            #expect(SecKeyVerifySignature(verifier, algorithm, message, signature, nil))
        }
    }

    @Test("a hardware key found with an authenticated context shows no further prompt")
    func enclaveKeyInContext() async throws {
        let ring = KeyRing()
        let message = Data("a message".utf8) as CFData
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        _ = try ring.makeInEnclave([.privateKeyUsage, .userPresence])
        let context = LAContext()
        let control = try #require(rules([.privateKeyUsage, .userPresence]))
        try await expectPrompts(1) {
            let isGranted = try await context.evaluateAccessControl(
                control,
                operation: .useKeySign,
                localizedReason: "test"
            )
            #expect(isGranted)
            let with: [CFString: Any] = [kSecUseAuthenticationContext: context, kSecReturnRef: true]
            let found = try #require(ring.copy(with).result)
            for _ in 1...2 { _ = try key { SecKeyCreateSignature(found as! SecKey, algorithm, message, $0) } }
        }
    }
}
