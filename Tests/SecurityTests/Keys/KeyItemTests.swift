import Foundation
import KeychainModel
import Security
import Testing

@Suite("Keys as keychain items")
struct KeyItemTests {
    private static let tag = Data("org.example.key".utf8)

    private static func copy(_ query: [CFString: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(
            query.merging([kSecClass: kSecClassKey]) { own, _ in own } as CFDictionary,
            &result
        )
        return (status, result)
    }

    @Test("a key added by reference has its own attributes and those of the query")
    func addByReference() throws {
        let enclave = ScriptedEnclave()
        let key = try KeyMaker.make()
        try enclave.use {
            let item: [CFString: Any] = [
                kSecValueRef: key, kSecAttrApplicationTag: "org.example.key", kSecAttrLabel: "mine",
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock, kSecReturnRef: true,
            ]
            var result: CFTypeRef?
            #expect(SecItemAdd(item as CFDictionary, &result) == errSecSuccess)
            #expect(result as! SecKey == key)
            let added = try #require(enclave.items.first)
            #expect(added.attributes[AttributeKey(rawValue: "atag")] == .data([UInt8](Self.tag)))
            #expect(added.attributes[.label] == .string("mine"))
            #expect(added.attributes[.type] == .string("73"))
            #expect(added.attributes[AttributeKey(rawValue: "bsiz")] == .integer(256))
            let own = try #require(SecKeyCopyAttributes(key) as? [CFString: Any])
            let label = try #require(own[kSecAttrApplicationLabel] as? Data)
            #expect(added.attributes[AttributeKey(rawValue: "klbl")] == .data([UInt8](label)))
            #expect(Data(added.data) == (try KeyMaker.export(key)))
            #expect(added.accessControl == AccessControl(accessibility: .afterFirstUnlock))
        }
    }

    @Test("a key added by data gets its label from the data, and data that is no key is stored unchanged")
    func addByData() throws {
        let enclave = ScriptedEnclave()
        let key = try KeyMaker.make()
        try enclave.use {
            let item: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecAttrKeyType: kSecAttrKeyTypeEC,
                kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecValueData: try KeyMaker.export(key),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            #expect(enclave.items[0].attributes[AttributeKey(rawValue: "klbl")] != nil)
            let own: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecAttrApplicationTag: Self.tag, kSecAttrKeySizeInBits: 512,
                kSecValueData: Data(repeating: 5, count: 64),
            ]
            #expect(SecItemAdd(own as CFDictionary, nil) == errSecSuccess)
            #expect(enclave.items[1].data == [UInt8](repeating: 5, count: 64))
            #expect(enclave.items[1].attributes[AttributeKey(rawValue: "klbl")] == nil)
            // An item that holds no key has no reference, and does not make a list fail.
            var result: CFTypeRef?
            let all =
                [kSecClass: kSecClassKey, kSecReturnRef: true, kSecMatchLimit: kSecMatchLimitAll]
                as [CFString: Any]
            #expect(SecItemCopyMatching(all as CFDictionary, &result) == errSecSuccess)
            #expect(result as? [SecKey] == [key])
        }
    }

    @Test("keys are found as references, data and attributes, and by reference")
    func find() throws {
        let enclave = ScriptedEnclave()
        let key = try KeyMaker.make()
        let publicKey = try KeyMaker.publicKey(key)
        try enclave.use {
            #expect(SecItemAdd([kSecValueRef: key] as CFDictionary, nil) == errSecSuccess)
            #expect(Self.copy([kSecReturnRef: true]).result as! SecKey == key)
            #expect(Self.copy([kSecReturnData: true]).result as? Data == (try KeyMaker.export(key)))
            let (_, both) = Self.copy([kSecReturnRef: true, kSecReturnAttributes: true, kSecReturnData: true])
            let dictionary = try #require(both as? [CFString: Any])
            #expect(dictionary[kSecValueRef] as! SecKey == key)
            #expect(dictionary[kSecValueData] as? Data == (try KeyMaker.export(key)))
            #expect(dictionary[kSecAttrKeyClass] as? Int == 1)
            #expect(dictionary[kSecClass] as? String == kSecClassKey as String)
            // A software key matches the item of that key alone, without data.
            #expect(Self.copy([kSecValueRef: publicKey, kSecReturnRef: true]).status == errSecSuccess)
            let query = try #require(enclave.queries.last)
            #expect(query.attributes[AttributeKey(rawValue: "kcls")] == .string("0"))
            #expect(query.attributes[AttributeKey(rawValue: "klbl")] != nil)
            // A key from the keychain identifies its item in a list.
            let found = Self.copy([kSecReturnRef: true]).result as! SecKey
            let (status, listed) = Self.copy([kSecMatchItemList: [found], kSecReturnRef: true])
            #expect(status == errSecSuccess && listed as! SecKey == key)
            #expect(enclave.queries.last?.references.count == 1)
            #expect(Self.copy([kSecMatchItemList: [key], kSecReturnRef: true]).status == errSecParam)
            #expect(SecItemDelete([kSecValueRef: key] as CFDictionary) == errSecSuccess)
            #expect(enclave.queries.last?.itemClass == .key)
            #expect(enclave.queries.last?.attributes[AttributeKey(rawValue: "kcls")] == .string("1"))
        }
    }

    @Test("contradictory attributes yield errSecParam, whatever the order of the faults")
    func contradictions() throws {
        let key = try KeyMaker.make()
        func add(_ more: [CFString: Any]) -> OSStatus {
            SecItemAdd([kSecValueRef: key].merging(more) { $1 } as CFDictionary, nil)
        }
        #expect(add([kSecAttrKeyType: kSecAttrKeyTypeRSA]) == errSecParam)
        #expect(add([kSecAttrKeyClass: kSecAttrKeyClassPublic]) == errSecParam)
        #expect(add([kSecAttrKeySizeInBits: 384]) == errSecParam)
        #expect(add([kSecValueData: Data([1])]) == errSecParam)
        #expect(add([kSecClass: kSecClassGenericPassword]) == errSecParam)
        #expect(add([kSecAttrService: "mail"]) == errSecNoSuchAttr)
        #expect(add([kSecAttrService: "mail", "zzzzz" as CFString: 1]) == errSecParam)
        #expect(add([kSecValueRef: "key"]) == errSecParam)
        #expect(add([kSecAttrApplicationTag: 7]) == errSecParam)
        #expect(Self.copy([kSecValueRef: NSNull(), kSecReturnRef: true]).status == errSecParam)
        #expect(Self.copy([kSecAttrSubject: Data()]).status == errSecNoSuchAttr)
        let update = [kSecClass: kSecClassKey, kSecAttrLabel: "a"] as CFDictionary
        #expect(SecItemUpdate(update, [kSecAttrService: "mail"] as CFDictionary) == errSecNoSuchAttr)
    }
}

@Suite("Keys in the keychain's hardware")
struct TokenKeyTests {
    private static func parameters(_ more: [CFString: Any] = [:]) -> CFDictionary {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            kSecPrivateKeyAttrs: [kSecAttrApplicationTag: Data("tag".utf8)].merging(more) { $1 },
        ]
        return parameters as CFDictionary
    }

    @Test("a hardware key's representation is stored as an item, unless the app says otherwise")
    func permanence() throws {
        let enclave = ScriptedEnclave()
        try enclave.use {
            let rules = try #require(
                SecAccessControlCreateWithFlags(
                    nil,
                    kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                    [.privateKeyUsage, .biometryCurrentSet, .applicationPassword],
                    nil
                )
            )
            let key = try #require(
                SecKeyCreateRandomKey(Self.parameters([kSecAttrAccessControl: rules]), nil)
            )
            let item = try #require(enclave.items.first)
            #expect(item.data == ScriptedEnclave.representation)
            #expect(item.attributes[.tokenID] == .string("com.apple.setoken"))
            #expect(item.attributes[AttributeKey(rawValue: "atag")] == .data(Array("tag".utf8)))
            // Finding the item needs no prompt.
            #expect(item.accessControl.accessibility == .whenPasscodeSetThisDeviceOnly)
            #expect(item.accessControl.flags == .privateKeyUsage)
            let attributes = try #require(SecKeyCopyAttributes(key) as? [CFString: Any])
            #expect(attributes[kSecAttrTokenID] as? String == kSecAttrTokenIDSecureEnclave as String)
            #expect(attributes[kSecAttrIsPermanent] as? Bool == true)
            #expect(attributes[kSecAttrIsExtractable] as? Bool == false)
            #expect(attributes[kSecAttrAccessControl] as? SecAccessControl == rules)
            let ephemeral = SecKeyCreateRandomKey(Self.parameters([kSecAttrIsPermanent: false]), nil)
            #expect(ephemeral != nil && enclave.items.count == 1)
        }
    }

    @Test("a key belongs to the access group that the app names, like its item")
    func groups() throws {
        let enclave = ScriptedEnclave()
        try enclave.use {
            #expect(SecKeyCreateRandomKey(Self.parameters(), nil) != nil)
            #expect(SecKeyCreateRandomKey(Self.parameters([kSecAttrAccessGroup: "mail"]), nil) != nil)
            #expect(enclave.groups.map { $0?.name } == [nil, "mail"])
            #expect(enclave.items.map { $0.attributes[.accessGroup] } == [nil, .string("mail")])
        }
    }

    @Test("a hardware key signs, agrees and decrypts in the daemon, and cannot be exported")
    func uses() throws {
        let enclave = ScriptedEnclave()
        try enclave.use {
            let key = try #require(SecKeyCreateRandomKey(Self.parameters(), nil))
            let publicKey = try KeyMaker.publicKey(key)
            let message = Data("a message".utf8) as CFData
            for algorithm in [
                SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256, .ecdsaSignatureMessageX962SHA512,
                .ecdsaSignatureMessageRFC4754SHA1,
            ] {
                let signature = try #require(SecKeyCreateSignature(key, algorithm, message, nil))
                #expect(SecKeyVerifySignature(publicKey, algorithm, message, signature, nil))
            }
            #expect(!SecKeyIsAlgorithmSupported(key, .sign, .ecdsaSignatureDigestX962SHA224))
            let short = Data(repeating: 1, count: 31) as CFData
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureDigestX962, short, nil) == nil)
            let ecies = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
            let ciphertext = try #require(SecKeyCreateEncryptedData(publicKey, ecies, message, nil))
            #expect(SecKeyCreateDecryptedData(key, ecies, ciphertext, nil) == message)
            let other = try KeyMaker.make()
            let none = [:] as CFDictionary
            let mine = SecKeyCopyKeyExchangeResult(
                key,
                .ecdhKeyExchangeStandard,
                try KeyMaker.publicKey(other),
                none,
                nil
            )
            #expect(mine != nil)
            #expect(
                mine == SecKeyCopyKeyExchangeResult(other, .ecdhKeyExchangeStandard, publicKey, none, nil)
            )
            let operations = enclave.uses.map(\.use.operation)
            #expect(
                operations == [.useKeySign, .useKeySign, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange]
            )
            var error: Unmanaged<CFError>?
            #expect(SecKeyCopyExternalRepresentation(key, &error) == nil)
            #expect(KeyMaker.code(error) == Int(errSecUnimplemented))
            #expect(try KeyMaker.export(publicKey).count == 65)
        }
    }

    @Test("a hardware key is found only as a reference, and its data is not returned")
    func neverData() throws {
        let enclave = ScriptedEnclave()
        try enclave.use {
            let key = try #require(SecKeyCreateRandomKey(Self.parameters(), nil))
            func copy(_ more: [CFString: Any]) -> (OSStatus, CFTypeRef?) {
                var result: CFTypeRef?
                let query = [kSecClass: kSecClassKey].merging(more) { $1 } as CFDictionary
                return (SecItemCopyMatching(query, &result), result)
            }
            #expect(copy([kSecReturnRef: true]).1 as! SecKey == key)
            #expect(copy([kSecReturnData: true]).0 == errSecItemNotFound)
            #expect(
                copy([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitAll]).0 == errSecItemNotFound
            )
            let (_, both) = copy([kSecReturnData: true, kSecReturnAttributes: true])
            let dictionary = try #require(both as? [CFString: Any])
            #expect(dictionary[kSecValueData] == nil && dictionary[kSecAttrTokenID] != nil)
            var result: CFTypeRef?
            let reference: [CFString: Any] = [
                kSecValuePersistentRef: Data(repeating: 9, count: 16), kSecReturnData: true,
            ]
            #expect(SecItemCopyMatching(reference as CFDictionary, &result) == errSecItemNotFound)
        }
    }

    @Test(
        "a failed use reports its reason",
        arguments: [KeychainModel.Status.userCanceled, .authFailed, .itemNotFound]
    )
    func failures(status: KeychainModel.Status) throws {
        let enclave = ScriptedEnclave(failure: KeychainError(status))
        try enclave.use {
            let key = try #require(SecKeyCreateRandomKey(Self.parameters(), nil))
            var error: Unmanaged<CFError>?
            let data = Data("a message".utf8) as CFData
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, data, &error) == nil)
            let failure = try #require(error?.takeRetainedValue())
            #expect(failure.domain == NSOSStatusErrorDomain && failure.code == Int(status.rawValue))
        }
    }
}
