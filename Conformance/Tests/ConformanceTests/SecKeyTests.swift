// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import Security
import Testing

@Suite("Software keys", .keychain)
struct SoftwareKeyTests {
    private let ring = KeyRing()
    private let message = Data("a message".utf8) as CFData

    /// A key type and size.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isRSA: Bool
        let size: Int
        var type: CFString { isRSA ? kSecAttrKeyTypeRSA : kSecAttrKeyTypeECSECPrimeRandom }
        var blockByteCount: Int { (size + 7) / 8 }
        var signature: SecKeyAlgorithm {
            isRSA ? .rsaSignatureMessagePSSSHA256 : .ecdsaSignatureMessageX962SHA256
        }
        var encryption: SecKeyAlgorithm {
            isRSA ? .rsaEncryptionOAEPSHA256 : .eciesEncryptionCofactorX963SHA256AESGCM
        }

        static let all =
            [256, 384, 521].map { Kind(testDescription: "P-\($0)", isRSA: false, size: $0) } + [rsa]
        static let rsa = Kind(testDescription: "RSA", isRSA: true, size: 2048)
    }

    @Test("a key reports its type, size and public half", arguments: Kind.all)
    func attributes(kind: Kind) throws {
        let made = try ring.make(kind.type, kind.size)
        let publicKey = try #require(SecKeyCopyPublicKey(made))
        #expect(SecKeyGetBlockSize(made) == kind.blockByteCount)
        #expect(CFGetTypeID(made) == SecKeyGetTypeID())
        for (half, keyClass) in [(made, kSecAttrKeyClassPrivate), (publicKey, kSecAttrKeyClassPublic)] {
            let attributes = try #require(SecKeyCopyAttributes(half) as? [String: Any])
            #expect(attributes["type"] as? String == kind.type as String)
            #expect(attributes["bsiz"] as? Int == kind.size)
            #expect(attributes["kcls"] as? String == keyClass as String)
            #expect((attributes["klbl"] as? Data)?.count == 20, "the SHA-1 of the public key")
            #expect(attributes["v_Data"] == nil)
        }
    }

    @Test("a signature is verified by the public half, and by nothing else", arguments: Kind.all)
    func signature(kind: Kind) throws {
        let made = try ring.make(kind.type, kind.size)
        let publicKey = try #require(SecKeyCopyPublicKey(made))
        let signature = try key { SecKeyCreateSignature(made, kind.signature, message, $0) }
        #expect(SecKeyVerifySignature(publicKey, kind.signature, message, signature, nil))
        var error: Unmanaged<CFError>?
        let other = Data("another".utf8) as CFData
        #expect(!SecKeyVerifySignature(publicKey, kind.signature, other, signature, &error))
        #expect(error.map { CFErrorGetCode($0.takeRetainedValue()) } == Int(errSecVerifyFailed))
        let stranger = try #require(SecKeyCopyPublicKey(try ring.make(kind.type, kind.size)))
        #expect(!SecKeyVerifySignature(stranger, kind.signature, message, signature, nil))
        #expect(!SecKeyVerifySignature(publicKey, kind.signature, message, Data() as CFData, nil))
    }

    @Test(
        "a private key decrypts what was encrypted to its public half, and nothing else",
        arguments: Kind.all
    )
    func encryption(kind: Kind) throws {
        let made = try ring.make(kind.type, kind.size)
        let publicKey = try #require(SecKeyCopyPublicKey(made))
        let sealed = try key { SecKeyCreateEncryptedData(publicKey, kind.encryption, message, $0) }
        #expect(sealed as Data != message as Data)
        #expect(try key { SecKeyCreateDecryptedData(made, kind.encryption, sealed, $0) } == message)
        var damaged = sealed as Data
        damaged[damaged.count - 1] ^= 1
        #expect(SecKeyCreateDecryptedData(made, kind.encryption, damaged as CFData, nil) == nil)
        let other = try ring.make(kind.type, kind.size)
        #expect(SecKeyCreateDecryptedData(other, kind.encryption, sealed, nil) == nil)
    }

    @Test("both halves of a key can be exported and imported", arguments: Kind.all)
    func representation(kind: Kind) throws {
        let made = try ring.make(kind.type, kind.size)
        let signature = try key { SecKeyCreateSignature(made, kind.signature, message, $0) }
        let publicKey = try #require(SecKeyCopyPublicKey(made))
        for (half, keyClass) in [(made, kSecAttrKeyClassPrivate), (publicKey, kSecAttrKeyClassPublic)] {
            let octets = try key { SecKeyCopyExternalRepresentation(half, $0) }
            let attributes: [CFString: Any] = [kSecAttrKeyType: kind.type, kSecAttrKeyClass: keyClass]
            let again = try key { SecKeyCreateWithData(octets, attributes as CFDictionary, $0) }
            #expect(try key { SecKeyCopyExternalRepresentation(again, $0) } == octets)
            let verifier = try #require(SecKeyCopyPublicKey(again))
            #expect(SecKeyVerifySignature(verifier, kind.signature, message, signature, nil))
            let cut = (octets as Data).dropLast() as CFData
            #expect(failure { SecKeyCreateWithData(cut, attributes as CFDictionary, $0) } != nil)
        }
    }

    @Test("elliptic-curve keys agree on a secret", arguments: Kind.all.filter { !$0.isRSA })
    func agreement(kind: Kind) throws {
        let (one, two) = (try ring.make(kind.type, kind.size), try ring.make(kind.type, kind.size))
        let ones = try #require(SecKeyCopyPublicKey(one))
        let twos = try #require(SecKeyCopyPublicKey(two))
        let none = [:] as CFDictionary
        let raw = try key { SecKeyCopyKeyExchangeResult(one, .ecdhKeyExchangeStandard, twos, none, $0) }
        #expect(try key { SecKeyCopyKeyExchangeResult(two, .ecdhKeyExchangeStandard, ones, none, $0) } == raw)
        #expect((raw as Data).count == kind.blockByteCount)
        let parameters: [CFString: Any] = [
            SecKeyKeyExchangeParameter.requestedSize.rawValue: 47,
            SecKeyKeyExchangeParameter.sharedInfo.rawValue: Data("info".utf8),
        ]
        let derivation = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
        let derived = try key {
            SecKeyCopyKeyExchangeResult(one, derivation, twos, parameters as CFDictionary, $0)
        }
        #expect((derived as Data).count == 47)
        #expect(failure { SecKeyCopyKeyExchangeResult(one, derivation, twos, none, $0) } == Int(errSecParam))
    }

    @Test("a key supports the algorithms of its type and half")
    func support() throws {
        let elliptic = try ring.make()
        let rsa = try ring.make(kSecAttrKeyTypeRSA, 2048)
        let publicKey = try #require(SecKeyCopyPublicKey(elliptic))
        #expect(SecKeyIsAlgorithmSupported(elliptic, .sign, .ecdsaSignatureMessageX962SHA256))
        #expect(SecKeyIsAlgorithmSupported(publicKey, .verify, .ecdsaSignatureMessageX962SHA256))
        #expect(SecKeyIsAlgorithmSupported(elliptic, .keyExchange, .ecdhKeyExchangeStandard))
        #expect(SecKeyIsAlgorithmSupported(rsa, .decrypt, .rsaEncryptionOAEPSHA256))
        #expect(!SecKeyIsAlgorithmSupported(publicKey, .sign, .ecdsaSignatureMessageX962SHA256))
        #expect(!SecKeyIsAlgorithmSupported(elliptic, .sign, .rsaSignatureMessagePSSSHA256))
        #expect(!SecKeyIsAlgorithmSupported(rsa, .keyExchange, .ecdhKeyExchangeStandard))
        let unsupported = failure {
            SecKeyCreateSignature(elliptic, .rsaSignatureMessagePSSSHA256, message, $0)
        }
        #expect(unsupported == Int(errSecParam))
        let digest = failure { SecKeyCreateSignature(elliptic, .ecdsaSignatureDigestX962SHA256, message, $0) }
        #expect(digest == Int(errSecParam), "a message is no digest")
    }

    @Test("invalid parameters create no key")
    func parameters() {
        let wrong: [[CFString: Any]] = [
            [:], [kSecAttrKeySizeInBits: 256], [kSecAttrKeyType: "none", kSecAttrKeySizeInBits: 256],
            [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 255],
            [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: "many"],
            [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 7],
        ]
        for parameters in wrong {
            #expect(failure { SecKeyCreateRandomKey(parameters as CFDictionary, $0) } != nil, "\(parameters)")
        }
        #expect(failure { SecKeyCreateRandomKey([:] as CFDictionary, $0) } == Int(errSecParam))
    }
}

@Suite("Rule 10: keys in the keychain", .keychain)
struct KeychainKeyTests {
    private let ring = KeyRing()

    @Test("a key is ephemeral unless its attributes say otherwise")
    func ephemeral() throws {
        _ = try ring.make()
        #expect(ring.copy([:]).status == errSecItemNotFound)
        let kept = try ring.make(isPermanent: true)
        let found = ring.copy([kSecReturnRef: true]).result
        #expect(CFEqual(found, kept))
    }

    @Test("attributes of a half override the outer ones, and both apply")
    func merged() throws {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrLabel: "outer", kSecUseDataProtectionKeychain: true,
            kSecPrivateKeyAttrs: [
                kSecAttrIsPermanent: true, kSecAttrApplicationTag: ring.tag, kSecAttrLabel: "inner",
            ] as [CFString: Any],
        ]
        _ = try key { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
        let attributes = ring.copy([kSecReturnAttributes: true]).result as? [String: Any]
        #expect(attributes?["labl"] as? String == "inner")
    }

    @Test("a key is returned as reference, bytes and attributes, and signs as before")
    func shapes() throws {
        let made = try ring.make(isPermanent: true)
        let octets = try key { SecKeyCopyExternalRepresentation(made, $0) } as Data
        #expect(ring.copy([kSecReturnData: true]).result as? Data == octets)
        let attributes = try #require(ring.copy([kSecReturnAttributes: true]).result as? [String: Any])
        #expect(attributes["class"] as? String == "keys")
        #expect(attributes["kcls"] as? Int == 1 && attributes["type"] as? Int == 73)
        #expect(attributes["bsiz"] as? Int == 256 && attributes["atag"] as? Data == ring.tag)
        let found = try #require(ring.copy([kSecReturnRef: true]).result)
        let again = found as! SecKey
        let message = Data("a message".utf8) as CFData
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        let signature = try key { SecKeyCreateSignature(again, algorithm, message, $0) }
        let verifier = try #require(SecKeyCopyPublicKey(made))
        #expect(SecKeyVerifySignature(verifier, algorithm, message, signature, nil))
        let all: [CFString: Any] = [kSecReturnRef: true, kSecMatchLimit: kSecMatchLimitAll]
        #expect((ring.copy(all).result as? [Any])?.count == 1)
        let several = ring.copy([kSecReturnRef: true, kSecReturnAttributes: true]).result as? [String: Any]
        #expect(several?["v_Ref"] != nil && several?["klbl"] is Data)
    }

    @Test("a key is added, found and deleted by its reference; adding it twice is a duplicate")
    func references() throws {
        let made = try ring.make()
        let named: [CFString: Any] = [kSecValueRef: made]
        #expect(SecItemAdd(ring.query(named), nil) == errSecSuccess)
        #expect(SecItemAdd(ring.query(named), nil) == errSecDuplicateItem)
        #expect(ring.copy(named).status == errSecSuccess)
        let other = try ring.make()
        #expect(ring.copy([kSecValueRef: other]).status == errSecItemNotFound)
        #expect(SecItemAdd(ring.query([kSecValueRef: other]), nil) == errSecSuccess)
        #expect(SecItemDelete(ring.query(named)) == errSecSuccess)
        #expect(ring.copy(named).status == errSecItemNotFound)
        #expect(ring.copy([kSecValueRef: other]).status == errSecSuccess)
    }

    @Test("both halves of a pair can be stored, and differ in their class")
    func halves() throws {
        let made = try ring.make(isPermanent: true)
        let publicKey = try #require(SecKeyCopyPublicKey(made))
        #expect(SecItemAdd(ring.query([kSecValueRef: publicKey]), nil) == errSecSuccess)
        for keyClass in [kSecAttrKeyClassPrivate, kSecAttrKeyClassPublic] {
            let found = ring.copy([kSecAttrKeyClass: keyClass, kSecReturnAttributes: true]).result
            #expect((found as? [String: Any])?["kcls"] as? Int == Int(keyClass as String))
        }
    }
}
