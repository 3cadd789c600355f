import LocalAuthentication
import Testing

@Suite(
    "SecKey functions with a real daemon",
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built")
)
struct KeyEndToEndTests {
    private static let tag = Data("org.example.key".utf8)
    private static var message: CFData { Data("a message".utf8) as CFData }

    private static func query(_ more: [CFString: Any] = [:]) -> CFDictionary {
        [kSecClass: kSecClassKey, kSecAttrApplicationTag: tag].merging(more) { $1 } as CFDictionary
    }

    private static func copy(_ more: [CFString: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query(more), &result)
        return (status, result)
    }

    private static func make(
        _ flags: SecAccessControlCreateFlags,
        _ more: [CFString: Any] = [:]
    ) throws -> SecKey {
        var error: Unmanaged<CFError>?
        let key = try attempt(flags, more, &error)
        return try #require(key, "\(String(describing: error?.takeRetainedValue()))")
    }

    private static func attempt(
        _ flags: SecAccessControlCreateFlags,
        _ more: [CFString: Any] = [:],
        _ error: inout Unmanaged<CFError>?
    ) throws -> SecKey? {
        let rules = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, flags, nil)
        )
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            kSecPrivateKeyAttrs: [kSecAttrAccessControl: rules, kSecAttrApplicationTag: tag]
                .merging(more) { $1 },
        ]
        return SecKeyCreateRandomKey(parameters as CFDictionary, &error)
    }

    @Test(
        "a token key is found by its tag without a prompt, prompts to sign, and is deleted with its item"
    )
    func tokenKey() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let made = try Self.make([.privateKeyUsage, .devicePasscode])
            let key = Self.copy([kSecReturnRef: true]).result as! SecKey
            #expect(key == made && running.prompts == 0)
            let described = Self.copy([kSecReturnRef: true, kSecReturnAttributes: true]).result
            let rules = (described as? [CFString: Any])?[kSecAttrAccessControl] as? SecAccessControl
            #expect(rules?.description.contains("devicePasscode") == true)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            let signature = try #require(
                SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, Self.message, nil)
            )
            #expect(running.prompts == 1)
            #expect(
                SecKeyVerifySignature(
                    publicKey,
                    .ecdsaSignatureMessageX962SHA256,
                    Self.message,
                    signature,
                    nil
                )
            )
            let ecies = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
            let ciphertext = try #require(SecKeyCreateEncryptedData(publicKey, ecies, Self.message, nil))
            #expect(running.prompts == 1)
            #expect(SecKeyCreateDecryptedData(key, ecies, ciphertext, nil) == Self.message)
            #expect(running.prompts == 2)
            try running.setCancels(true)
            var error: Unmanaged<CFError>?
            let none = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, Self.message, &error)
            #expect(none == nil)
            #expect(error?.takeRetainedValue().code == Int(errSecUserCanceled))
            let attributes = Self.copy([kSecReturnAttributes: true]).result as? [CFString: Any]
            #expect(attributes?[kSecAttrTokenID] as? String == kSecAttrTokenIDSecureEnclave as String)
            let shown = attributes?[kSecAttrAccessControl] as? SecAccessControl
            #expect(shown == rules, "the key's own, not that of its item")
            #expect(attributes?["kacc" as CFString] == nil)
            #expect(Self.copy([kSecReturnData: true]).status == errSecItemNotFound)
            #expect(SecItemDelete([kSecValueRef: key] as CFDictionary) == errSecSuccess)
            #expect(Self.copy([kSecReturnRef: true]).status == errSecItemNotFound)
            // The key ended with its item, for every `SecKey` that was made of it.
            let prompts = running.prompts
            for held in [key, made] {
                let none = SecKeyCreateSignature(
                    held,
                    .ecdsaSignatureMessageX962SHA256,
                    Self.message,
                    &error
                )
                #expect(none == nil)
                #expect(error?.takeRetainedValue().code == Int(errSecItemNotFound))
                #expect(SecKeyCreateDecryptedData(held, ecies, ciphertext, &error) == nil)
                #expect(error?.takeRetainedValue().code == Int(errSecItemNotFound))
            }
            #expect(SecItemAdd([kSecValueRef: key] as CFDictionary, nil) == errSecItemNotFound)
            #expect(running.prompts == prompts)
        }
    }

    @Test("two signatures with one context need one passcode prompt")
    func context() async throws {
        let running = try await RunningKeychain()
        try running.use {
            _ = try Self.make([.privateKeyUsage, .devicePasscode])
            let context = LAContext()
            let found = Self.copy([kSecReturnRef: true, kSecUseAuthenticationContext: context])
            let key = found.result as! SecKey
            for _ in 1...2 {
                let signature = SecKeyCreateSignature(
                    key,
                    .ecdsaSignatureMessageX962SHA256,
                    Self.message,
                    nil
                )
                #expect(signature != nil)
            }
            #expect(running.prompts == 1)
            context.invalidate()
            var error: Unmanaged<CFError>?
            let none = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, Self.message, &error)
            #expect(none == nil)
            #expect(error?.takeRetainedValue().code == Int(errSecAuthFailed))
            let quiet = Self.copy([kSecReturnRef: true, kSecUseAuthenticationUI: kSecUseAuthenticationUIFail])
            let quietKey = quiet.result as! SecKey
            #expect(
                SecKeyCreateSignature(quietKey, .ecdsaSignatureMessageX962SHA256, Self.message, &error) == nil
            )
            #expect(error?.takeRetainedValue().code == Int(errSecInteractionNotAllowed))
            #expect(running.prompts == 1)
        }
    }

    @Test("a token key without constraints does not prompt, and one without key usage is not created")
    func withoutConstraints() async throws {
        let running = try await RunningKeychain()
        try running.use {
            for flags in [[], SecAccessControlCreateFlags.privateKeyUsage] {
                let key = try Self.make(flags, [kSecAttrIsPermanent: false])
                #expect(
                    SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, Self.message, nil) != nil
                )
            }
            #expect(running.prompts == 0)
            #expect(Self.copy([kSecReturnRef: true]).status == errSecItemNotFound)
            var error: Unmanaged<CFError>?
            let none = try Self.attempt([.devicePasscode], [:], &error)
            #expect(none == nil)
            #expect(error?.takeRetainedValue().code == Int(errSecParam))
        }
    }

    @Test("a permanent software key is stored, unique by its public key, and found unchanged")
    func softwareKeys() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048, kSecAttrLabel: "mine",
                kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true, kSecAttrApplicationTag: Self.tag],
                kSecPublicKeyAttrs: [kSecAttrIsPermanent: true],
            ]
            var (publicKey, privateKey): (SecKey?, SecKey?)
            #expect(SecKeyGeneratePair(parameters as CFDictionary, &publicKey, &privateKey) == errSecSuccess)
            let key = try #require(privateKey)
            #expect(Self.copy([kSecReturnRef: true]).result as! SecKey == key)
            #expect(
                Self.copy([kSecReturnData: true]).result as? Data
                    == SecKeyCopyExternalRepresentation(key, nil) as Data?
            )
            #expect(
                SecItemAdd(Self.query([kSecValueRef: key, kSecAttrLabel: "other"]), nil)
                    == errSecDuplicateItem
            )
            // Another tag makes a second item of the same key.
            let other: [CFString: Any] = [kSecValueRef: key, kSecAttrApplicationTag: Data("other".utf8)]
            #expect(SecItemAdd(other as CFDictionary, nil) == errSecSuccess)
            var result: CFTypeRef?
            let byLabel: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecAttrLabel: "mine", kSecReturnRef: true,
                kSecMatchLimit: kSecMatchLimitAll,
            ]
            #expect(SecItemCopyMatching(byLabel as CFDictionary, &result) == errSecSuccess)
            #expect(Set(try #require(result as? [SecKey])) == [key, try #require(publicKey)])
            let hash = try #require(
                (SecKeyCopyAttributes(key) as? [CFString: Any])?[kSecAttrApplicationLabel]
            )
            let byHash: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecAttrApplicationLabel: hash,
                kSecAttrKeyClass: kSecAttrKeyClassPublic, kSecReturnRef: true, kSecReturnPersistentRef: true,
            ]
            #expect(SecItemCopyMatching(byHash as CFDictionary, &result) == errSecSuccess)
            let found = try #require(result as? [CFString: Any])
            #expect(found[kSecValueRef] as? SecKey == publicKey)
            let byReference: [CFString: Any] = [
                kSecValuePersistentRef: try #require(found[kSecValuePersistentRef]), kSecReturnRef: true,
            ]
            #expect(SecItemCopyMatching(byReference as CFDictionary, &result) == errSecSuccess)
            #expect(result as? SecKey == publicKey)
            let listed: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecMatchItemList: [result as! SecKey], kSecReturnData: true,
            ]
            #expect(SecItemCopyMatching(listed as CFDictionary, &result) == errSecSuccess)
            #expect(SecItemUpdate(Self.query(), [kSecAttrLabel: "new"] as CFDictionary) == errSecSuccess)
            let attributes = Self.copy([kSecReturnAttributes: true]).result as? [CFString: Any]
            #expect(attributes?[kSecAttrLabel] as? String == "new")
            #expect(running.prompts == 0)
        }
    }
}
