import Foundation
import Security
import Testing

@Suite("Software keys")
struct SoftwareKeyTests {
    private static let message = Data("a message".utf8)

    @Test(
        "an elliptic-curve key is exported and imported as X9.63, on every curve",
        arguments: KeyMaker.ellipticSizes
    )
    func ellipticRepresentation(size: Int) throws {
        let key = try KeyMaker.make(kSecAttrKeyTypeECSECPrimeRandom, size)
        let octets = try KeyMaker.export(key)
        let coordinate = (size + 7) / 8
        #expect(octets.count == 1 + 3 * coordinate && octets.first == 4)
        #expect(SecKeyGetBlockSize(key) == coordinate)
        let publicKey = try KeyMaker.publicKey(key)
        let publicOctets = try KeyMaker.export(publicKey)
        #expect(publicOctets == octets.prefix(1 + 2 * coordinate))
        #expect(try KeyMaker.read(octets, kSecAttrKeyTypeEC) == key)
        #expect(try KeyMaker.read(publicOctets, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic) == publicKey)
        #expect(try KeyMaker.publicKey(publicKey) === publicKey)
        #expect(key != publicKey)
    }

    @Test("an RSA key is exported and imported as PKCS #1")
    func rsaRepresentation() throws {
        let key = try RSAKey.shared()
        let octets = try KeyMaker.export(key)
        #expect(SecKeyGetBlockSize(key) == 256)
        let publicKey = try KeyMaker.publicKey(key)
        #expect(try KeyMaker.read(octets, kSecAttrKeyTypeRSA) == key)
        let publicOctets = try KeyMaker.export(publicKey)
        #expect(try KeyMaker.read(publicOctets, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic) == publicKey)
    }

    @Test("attributes have Apple's strings and do not contain the secret")
    func attributes() throws {
        let key = try KeyMaker.make()
        let attributes = try #require(SecKeyCopyAttributes(key) as? [CFString: Any])
        #expect(attributes[kSecClass] as? String == kSecClassKey as String)
        #expect(attributes[kSecAttrKeyType] as? String == kSecAttrKeyTypeECSECPrimeRandom as String)
        #expect(attributes[kSecAttrKeyClass] as? String == kSecAttrKeyClassPrivate as String)
        #expect(attributes[kSecAttrKeySizeInBits] as? Int == 256)
        #expect(attributes[kSecAttrCanSign] as? Bool == true)
        #expect(attributes[kSecAttrCanVerify] as? Bool == false)
        #expect(attributes[kSecAttrIsPermanent] as? Bool == false)
        #expect(attributes[kSecAttrTokenID] == nil)
        #expect(attributes[kSecValueData] == nil)
        let publicKey = try KeyMaker.publicKey(key)
        let publicAttributes = try #require(SecKeyCopyAttributes(publicKey) as? [CFString: Any])
        #expect(publicAttributes[kSecAttrKeyClass] as? String == kSecAttrKeyClassPublic as String)
        let label = try #require(attributes[kSecAttrApplicationLabel] as? Data)
        #expect(label.count == 20)
        #expect(publicAttributes[kSecAttrApplicationLabel] as? Data == label)
    }

    @Test("keys have SecKey's type ID, and a description without key material")
    func typeAndDescription() throws {
        let key = try KeyMaker.make()
        #expect(CFGetTypeID(key) == SecKeyGetTypeID())
        #expect(SecKeyGetTypeID() != SecAccessControlGetTypeID())
        #expect("\(key)" == "<SecKeyRef: ECSECPrimeRandom, private, 256 bits>")
    }

    @Test(
        "each algorithm signs and verifies; another message, another key or a changed bit is refused",
        arguments: Algorithms.signatures
    )
    func signature(algorithm: Algorithms.Case) throws {
        let key = try algorithm.type == kSecAttrKeyTypeRSA ? RSAKey.shared() : KeyMaker.make()
        let publicKey = try KeyMaker.publicKey(key)
        try #require(SecKeyIsAlgorithmSupported(key, .sign, algorithm.algorithm))
        #expect(SecKeyIsAlgorithmSupported(publicKey, .verify, algorithm.algorithm))
        #expect(!SecKeyIsAlgorithmSupported(publicKey, .sign, algorithm.algorithm))
        #expect(!SecKeyIsAlgorithmSupported(key, .verify, algorithm.algorithm))
        let data = algorithm.input(Self.message) as CFData
        let other = algorithm.input(Data("another".utf8)) as CFData
        let signature = try #require(SecKeyCreateSignature(key, algorithm.algorithm, data, nil)) as Data
        #expect(SecKeyVerifySignature(publicKey, algorithm.algorithm, data, signature as CFData, nil))
        var error: Unmanaged<CFError>?
        #expect(!SecKeyVerifySignature(publicKey, algorithm.algorithm, other, signature as CFData, &error))
        #expect(KeyMaker.code(error) == Int(errSecVerifyFailed))
        for index in [0, signature.count / 2, signature.count - 1] {
            var changed = signature
            changed[index] ^= 1
            #expect(
                !SecKeyVerifySignature(publicKey, algorithm.algorithm, data, changed as CFData, nil),
                "byte \(index)"
            )
        }
        for wrong in [Data(), signature + [0], signature.dropLast()] {
            #expect(!SecKeyVerifySignature(publicKey, algorithm.algorithm, data, wrong as CFData, nil))
        }
    }

    @Test(
        "each algorithm encrypts and decrypts; a changed ciphertext is refused",
        arguments: Algorithms.encryptions
    )
    func encryption(algorithm: Algorithms.Case) throws {
        for size in algorithm.type == kSecAttrKeyTypeRSA ? [2048] : KeyMaker.ellipticSizes {
            let isRSA = algorithm.type == kSecAttrKeyTypeRSA
            let key = try isRSA ? RSAKey.shared() : KeyMaker.make(algorithm.type, size)
            let publicKey = try KeyMaker.publicKey(key)
            try #require(SecKeyIsAlgorithmSupported(publicKey, .encrypt, algorithm.algorithm))
            #expect(SecKeyIsAlgorithmSupported(key, .decrypt, algorithm.algorithm))
            #expect(!SecKeyIsAlgorithmSupported(key, .encrypt, algorithm.algorithm))
            for message in [Self.message, Data()] where algorithm.algorithm != .rsaEncryptionRaw {
                let ciphertext = try #require(
                    SecKeyCreateEncryptedData(publicKey, algorithm.algorithm, message as CFData, nil)
                )
                #expect(
                    SecKeyCreateDecryptedData(key, algorithm.algorithm, ciphertext, nil) as Data? == message
                )
                var changed = ciphertext as Data
                changed[changed.count - 1] ^= 1
                var error: Unmanaged<CFError>?
                #expect(
                    SecKeyCreateDecryptedData(key, algorithm.algorithm, changed as CFData, &error) == nil
                )
                #expect(KeyMaker.code(error) == Int(errSecParam))
            }
            #expect(SecKeyCreateDecryptedData(key, algorithm.algorithm, Data() as CFData, nil) == nil)
        }
    }

    @Test("raw RSA encrypts a block unchanged")
    func rawRSA() throws {
        let key = try RSAKey.shared()
        let block = Data([0, 7]) + Data(repeating: 3, count: 254)
        let publicKey = try KeyMaker.publicKey(key)
        let ciphertext = try #require(
            SecKeyCreateEncryptedData(publicKey, .rsaEncryptionRaw, block as CFData, nil)
        )
        #expect(SecKeyCreateDecryptedData(key, .rsaEncryptionRaw, ciphertext, nil) as Data? == block)
        let tooLarge = Data(repeating: 0xff, count: 256) as CFData
        #expect(SecKeyCreateEncryptedData(publicKey, .rsaEncryptionRaw, tooLarge, nil) == nil)
        #expect(SecKeyCreateDecryptedData(key, .rsaEncryptionRaw, tooLarge, nil) == nil)
    }

    @Test("each algorithm agrees on a key", arguments: Algorithms.exchanges)
    func keyExchange(algorithm: Algorithms.Case) throws {
        let parameters: [String: Any] = [
            SecKeyKeyExchangeParameter.requestedSize.rawValue as String: 100,
            SecKeyKeyExchangeParameter.sharedInfo.rawValue as String: Data("info".utf8),
        ]
        for size in KeyMaker.ellipticSizes {
            let (mine, theirs) = (
                try KeyMaker.make(algorithm.type, size), try KeyMaker.make(algorithm.type, size)
            )
            func agree(_ key: SecKey, _ other: SecKey, _ parameters: [String: Any]) throws -> Data? {
                let publicKey = try KeyMaker.publicKey(other)
                return SecKeyCopyKeyExchangeResult(
                    key,
                    algorithm.algorithm,
                    publicKey,
                    parameters as CFDictionary,
                    nil
                ) as Data?
            }
            #expect(SecKeyIsAlgorithmSupported(mine, .keyExchange, algorithm.algorithm))
            let secret = try #require(try agree(mine, theirs, parameters))
            #expect(try agree(theirs, mine, parameters) == secret)
            let derives = algorithm.hash != nil
            #expect(secret.count == (derives ? 100 : (size + 7) / 8))
            if derives {
                #expect(try agree(mine, theirs, [:]) == nil)
                for wrong in [0, -1, 1 << 30] {
                    let bad = parameters.merging(["requestedSize": wrong]) { $1 }
                    #expect(try agree(mine, theirs, bad) == nil)
                }
                #expect(try agree(mine, theirs, parameters.merging(["sharedInfo": 1]) { $1 }) == nil)
                let other = try agree(mine, theirs, parameters.merging(["sharedInfo": Data()]) { $1 })
                #expect(other != nil && other != secret)
            }
        }
    }

    @Test("unsupported uses are refused with errSecParam and the algorithm's name")
    func refusals() throws {
        let key = try KeyMaker.make()
        let publicKey = try KeyMaker.publicKey(key)
        let data = Self.message as CFData
        var error: Unmanaged<CFError>?
        #expect(SecKeyCreateSignature(key, .rsaSignatureMessagePSSSHA256, data, &error) == nil)
        let first = try #require(error?.takeRetainedValue())
        #expect(first.domain == NSOSStatusErrorDomain && first.code == Int(errSecParam))
        #expect((first.userInfo["NSDescription"] as? String)?.hasPrefix("algid:sign:RSA:message-PSS") == true)
        #expect(SecKeyCreateSignature(key, .ecdsaSignatureDigestX962SHA256, data, &error) == nil)
        let second = try #require(error?.takeRetainedValue())
        #expect(
            second.userInfo["NSDescription"] as? String
                == "bad digest size for signing with algorithm algid:sign:ECDSA:digest-X962:SHA256"
        )
        #expect(SecKeyCreateSignature(publicKey, .ecdsaSignatureMessageX962SHA256, data, nil) == nil)
        #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA224, data, nil) == nil)
        #expect(!SecKeyIsAlgorithmSupported(key, .sign, .ecdsaSignatureMessageX962SHA224))
        #expect(!SecKeyIsAlgorithmSupported(key, .sign, SecKeyAlgorithm(rawValue: "algid:sign:none")))
        #expect(!SecKeyVerifySignature(key, .ecdsaSignatureMessageX962SHA256, data, data, nil))
        let empty = Data() as CFData
        #expect(SecKeyCreateSignature(key, .ecdsaSignatureDigestX962, empty, nil) == nil)
        let other = try KeyMaker.publicKey(KeyMaker.make(kSecAttrKeyTypeECSECPrimeRandom, 384))
        #expect(
            SecKeyCopyKeyExchangeResult(key, .ecdhKeyExchangeStandard, other, [:] as CFDictionary, nil) == nil
        )
    }

    @Test("malformed key data is refused")
    func malformedData() throws {
        let key = try KeyMaker.make()
        let octets = try KeyMaker.export(key)
        var offTheCurve = try KeyMaker.export(KeyMaker.publicKey(key))
        offTheCurve[40] ^= 1
        var otherScalar = octets
        otherScalar[96] ^= 1
        let rsa = try KeyMaker.export(RSAKey.shared())
        let cases: [(Data, CFString, CFString)] = [
            (Data(), kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate),
            (octets.dropLast(), kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate),
            (otherScalar, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate),
            (offTheCurve, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic),
            (octets, kSecAttrKeyTypeRSA, kSecAttrKeyClassPrivate),
            (rsa + [0], kSecAttrKeyTypeRSA, kSecAttrKeyClassPrivate),
            (rsa.dropLast(), kSecAttrKeyTypeRSA, kSecAttrKeyClassPrivate),
            (rsa, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic),
            (octets, "1", kSecAttrKeyClassPrivate), (octets, kSecAttrKeyTypeEC, kSecAttrKeyClassSymmetric),
        ]
        for (octets, type, keyClass) in cases {
            let attributes = [kSecAttrKeyType: type, kSecAttrKeyClass: keyClass] as CFDictionary
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateWithData(octets as CFData, attributes, &error) == nil)
            #expect(KeyMaker.code(error) == Int(errSecParam))
        }
        for attributes in [[:], ["type": kSecAttrKeyTypeEC], ["kcls": "1"], [1: 2], ["type": NSNull()]] {
            #expect(SecKeyCreateWithData(octets as CFData, attributes as CFDictionary, nil) == nil)
        }
    }

    @Test("a missing type or an unsupported size is refused")
    func malformedParameters() {
        func code(_ parameters: [CFString: Any]) -> Int? {
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateRandomKey(parameters as CFDictionary, &error) == nil)
            return KeyMaker.code(error)
        }
        let (param, size) = (Int(errSecParam), Int(errSecKeySizeNotAllowed))
        #expect(code([:]) == param)
        #expect(code([kSecAttrKeySizeInBits: 256]) == param)
        #expect(code([kSecAttrKeyType: "7", kSecAttrKeySizeInBits: 256]) == param)
        #expect(code([kSecAttrKeyType: kSecAttrKeyTypeRSA]) == size)
        for wrong in [0, -1, 1024, 2049, 8192, Int.max] {
            #expect(code([kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: wrong]) == size)
            #expect(code([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: wrong]) == size)
        }
        #expect(code([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: "many"]) == param)
        #expect(code([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecPrivateKeyAttrs: 1]) == param)
        #expect(code([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrTokenID: "card"]) == param)
        let token = [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave as Any]
        #expect(code(token.merging([kSecAttrKeyType: kSecAttrKeyTypeRSA]) { $1 }) == param)
        let larger: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 384]
        #expect(code(token.merging(larger) { $1 }) == param)
    }

    @Test(
        "the deprecated function generates key pairs, which its counterparts sign and verify with",
        arguments: [256, 384]
    )
    func deprecatedFunctions(size: Int) throws {
        var publicKey: SecKey?
        var privateKey: SecKey?
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: "\(size)",
        ]
        #expect(SecKeyGeneratePair(parameters as CFDictionary, &publicKey, &privateKey) == errSecSuccess)
        #expect(SecKeyGeneratePair([:] as CFDictionary, nil, nil) == errSecParam)
        let (mine, theirs) = (try #require(privateKey), try #require(publicKey))
        let digest = [UInt8](repeating: 7, count: 32)
        for padding in [SecPadding.PKCS1, .sigRaw, .PKCS1SHA256] {
            var signature = [UInt8](repeating: 0, count: 128)
            var count = signature.count
            #expect(SecKeyRawSign(mine, padding, digest, 32, &signature, &count) == errSecSuccess)
            #expect(SecKeyRawVerify(theirs, padding, digest, 32, signature, count) == errSecSuccess)
            #expect(SecKeyRawVerify(theirs, padding, digest, 31, signature, count) == errSecVerifyFailed)
            var small = 10
            #expect(SecKeyRawSign(mine, padding, digest, 32, &signature, &small) == errSecParam)
        }
        var (room, count) = ([UInt8](repeating: 0, count: 128), 128)
        #expect(SecKeyRawSign(mine, .OAEP, digest, 32, &room, &count) == errSecParam)
    }

    @Test("the deprecated functions encrypt and decrypt with RSA")
    func deprecatedEncryption() throws {
        let key = try RSAKey.shared()
        let publicKey = try KeyMaker.publicKey(key)
        let message = Array("a message".utf8)
        for padding in [SecPadding.PKCS1, .OAEP] {
            var ciphertext = [UInt8](repeating: 0, count: 256)
            var count = 256
            let encrypted = SecKeyEncrypt(publicKey, padding, message, message.count, &ciphertext, &count)
            #expect(encrypted == errSecSuccess && count == 256)
            var plaintext = [UInt8](repeating: 0, count: 256)
            #expect(SecKeyDecrypt(key, padding, ciphertext, 256, &plaintext, &count) == errSecSuccess)
            #expect(Array(plaintext.prefix(count)) == message)
        }
    }
}
