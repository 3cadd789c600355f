// swift-format-ignore-file: NeverForceUnwrap

import LocalAuthentication
import Testing

// Common spellings of queries, results and errors in iOS code. This file is compiled in Swift 6 mode here and in Swift 5 mode by
// the target SecurityIdiomsSwift5Tests; it uses only what exists on Apple's systems.

@Suite("Keys in an iOS app")
struct KeyIdiomsTests {
    private let parameters: [String: Any] = [
        kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
        kSecAttrKeySizeInBits as String: 256,
        kSecPrivateKeyAttrs as String: [
            kSecAttrIsPermanent as String: false,
            kSecAttrApplicationTag as String: "org.example.key".data(using: .utf8)!,
        ] as [String: Any],
    ]

    @Test("a key is created, signs and verifies, and reports errors through a pointer")
    func signature() throws {
        var error: Unmanaged<CFError>?
        guard let privateKey = SecKeyCreateRandomKey(parameters as CFDictionary, &error) else {
            throw error!.takeRetainedValue() as Error
        }
        guard let publicKey = SecKeyCopyPublicKey(privateKey) else { return }
        let algorithm: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256
        guard SecKeyIsAlgorithmSupported(privateKey, .sign, algorithm) else { return }
        let message = "message".data(using: .utf8)!
        guard
            let signature = SecKeyCreateSignature(privateKey, algorithm, message as CFData, &error) as Data?
        else {
            throw error!.takeRetainedValue() as Error
        }
        #expect(SecKeyVerifySignature(publicKey, algorithm, message as CFData, signature as CFData, &error))
        let isForged = SecKeyVerifySignature(
            publicKey,
            algorithm,
            Data() as CFData,
            signature as NSData,
            &error
        )
        #expect(!isForged)
        let failure = error!.takeRetainedValue()
        #expect(CFErrorGetCode(failure) == CFIndex(errSecVerifyFailed))
        #expect((failure as Error as NSError).domain == NSOSStatusErrorDomain)
    }

    @Test("a key is exported, imported, cast from a result and distinguished from other objects")
    func representation() throws {
        let key = SecKeyCreateRandomKey(parameters as CFDictionary, nil)!
        guard let exported = SecKeyCopyExternalRepresentation(key, nil) else { return }
        let data = exported as Data
        let options: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeEC, kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
        ]
        let imported = SecKeyCreateWithData(data as CFData, options as CFDictionary, nil)
        #expect(imported == key)
        let result: CFTypeRef? = imported
        #expect(CFGetTypeID(result) == SecKeyGetTypeID())
        let forced = result as! SecKey
        #expect(SecKeyGetBlockSize(forced) == 32)
        if let item = result, CFGetTypeID(item) == SecKeyGetTypeID() { #expect((item as! SecKey) == key) }
        let attributes = SecKeyCopyAttributes(key) as? [String: Any]
        #expect(attributes?[kSecAttrKeySizeInBits as String] as? Int == 256)
        let query: [String: Any] = [kSecClass as String: kSecClassKey, kSecValueRef as String: key]
        #expect((query as CFDictionary).count == 2)
    }

    @Test("a key encrypts and agrees, and the old function creates pairs")
    func encryption() {
        var publicKey: SecKey?
        var privateKey: SecKey?
        let status = SecKeyGeneratePair(parameters as CFDictionary, &publicKey, &privateKey)
        #expect(status == errSecSuccess)
        let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
        var error: Unmanaged<CFError>?
        let clear = Data("clear".utf8)
        let sealed = SecKeyCreateEncryptedData(publicKey!, algorithm, clear as CFData, &error)! as Data
        let opened = SecKeyCreateDecryptedData(privateKey!, algorithm, sealed as CFData, &error) as Data?
        #expect(opened == clear)
        let exchange =
            [
                SecKeyKeyExchangeParameter.requestedSize.rawValue as String: 32,
                SecKeyKeyExchangeParameter.sharedInfo.rawValue as String: Data(),
            ] as [String: Any]
        let secret = SecKeyCopyKeyExchangeResult(
            privateKey!,
            .ecdhKeyExchangeStandardX963SHA256,
            publicKey!,
            exchange as CFDictionary,
            &error
        )
        #expect((secret as Data?)?.count == 32)
        let byParameter: [SecKeyKeyExchangeParameter: Any] = [.requestedSize: 32, .sharedInfo: Data()]
        let same = SecKeyCopyKeyExchangeResult(
            privateKey!,
            .ecdhKeyExchangeStandardX963SHA256,
            publicKey!,
            byParameter as CFDictionary,
            nil
        )
        #expect(same as Data? == secret as Data?)
        var signature = [UInt8](repeating: 0, count: 128)
        var signatureLength = signature.count
        let digest = [UInt8](repeating: 1, count: 32)
        let signed = SecKeyRawSign(privateKey!, .PKCS1, digest, digest.count, &signature, &signatureLength)
        #expect(signed == errSecSuccess)
        let verified = SecKeyRawVerify(publicKey!, .PKCS1, digest, digest.count, signature, signatureLength)
        #expect(verified == noErr)
    }
}

@Suite("Queries in an iOS app")
struct QueryIdiomsTests {
    /// The query as a dictionary of strings.
    private func strings(_ query: CFDictionary) -> [String: String]? { query as? [String: String] }

    private let expected = ["class": "genp", "acct": "ada"]

    @Test("a query can be a dictionary of strings, of constants or of objects")
    func dictionaries() {
        #expect(
            strings(
                [kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "ada"]
                    as CFDictionary
            ) == expected
        )
        #expect(
            strings([kSecClass: kSecClassGenericPassword, kSecAttrAccount: "ada"] as CFDictionary) == expected
        )
        let byStrings: [String: Any] = [
            String(kSecClass): kSecClassGenericPassword, String(kSecAttrAccount): "ada",
        ]
        #expect(strings(byStrings as CFDictionary) == expected)
        let byConstants: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "ada"]
        #expect(strings(byConstants as CFDictionary) == expected)
        let objects: [String: AnyObject] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "ada" as AnyObject,
        ]
        #expect(strings(objects as CFDictionary) == expected)
        let constantsOnly: [CFString: AnyObject] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "ada" as NSString,
        ]
        #expect(strings(constantsOnly as CFDictionary) == expected)
        let hashable: [AnyHashable: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount as String: "ada",
        ]
        #expect(strings(hashable as CFDictionary) == expected)
        let nested: [String: Any] = [
            kSecPrivateKeyAttrs as String: [kSecAttrIsPermanent as String: true] as [String: Any]
        ]
        #expect((nested as CFDictionary).count == 1)
    }

    @Test("a query can be an NSDictionary, literal or mutable")
    func objects() {
        let literal: NSDictionary = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "ada"]
        #expect(strings(literal) == expected)
        #expect(strings(literal as CFDictionary) == expected)
        let mutable = NSMutableDictionary()
        mutable[kSecClass as String] = kSecClassGenericPassword
        mutable.setValue("ada", forKey: kSecAttrAccount as String)
        #expect(strings(mutable as CFDictionary) == expected)
        let byLists = NSMutableDictionary(
            objects: [NSString(format: kSecClassGenericPassword), "ada"],
            forKeys: [NSString(format: kSecClass), NSString(format: kSecAttrAccount)]
        )
        #expect(strings(byLists as CFDictionary) == expected)
        #expect(strings(byLists.copy() as! CFDictionary) == expected)
    }

    @Test("a query can be built key by key")
    func subscripts() {
        var query = [String: Any]()
        query[kSecClass as String] = kSecClassGenericPassword
        query[kSecAttrAccount as String] = "ada"
        #expect(strings(query as CFDictionary) == expected)
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecReturnAttributes as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        query[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        query.removeValue(forKey: kSecReturnData as String)
        query.updateValue(kSecMatchLimitAll, forKey: kSecMatchLimit as String)
        #expect(query.count == 5)
        var objects = [String: AnyObject]()
        objects[kSecClass as String] = kSecClassGenericPassword
        objects[kSecAttrAccount as String] = "ada" as AnyObject?
        objects[kSecReturnData as String] = kCFBooleanTrue
        #expect(objects.count == 3)
        var constants: [CFString: Any] = [:]
        constants[kSecClass] = kSecClassGenericPassword
        constants[kSecReturnData] = kCFBooleanTrue as Any
        #expect(constants.count == 2)
        var optionals: [String: Any?] = [kSecClass as String: kSecClassGenericPassword]
        optionals[kSecReturnData as String] = kCFBooleanTrue
        #expect(optionals.count == 2)
        let merged = query.merging([kSecAttrService as String: "mail"]) { _, new in new }
        #expect(merged.count == 6)
    }

    @Test("constants can be compared and stored as strings")
    func constants() {
        let name = kSecAttrAccount as String
        #expect(name == "acct")
        #expect(kSecClassGenericPassword == kSecClassGenericPassword)
        #expect(kSecClassKey as NSString == "keys")
        #expect(String(kSecMatchLimitAll) == "m_LimitAll")
        enum Accessible: RawRepresentable {
            case whenUnlocked, always
            init?(rawValue: String) {
                switch rawValue {
                case String(kSecAttrAccessibleWhenUnlocked): self = .whenUnlocked
                case String(kSecAttrAccessibleAlways): self = .always
                default: return nil
                }
            }
            var rawValue: String {
                switch self {
                case .whenUnlocked: return String(kSecAttrAccessibleWhenUnlocked)
                case .always: return String(kSecAttrAccessibleAlways)
                }
            }
        }
        #expect(Accessible(rawValue: "ak") == .whenUnlocked)
    }

    @Test("a query can contain bridged values")
    func values() {
        let number = 3 as CFNumber
        #expect(number as? Int == 3)
        let data = Data([1]) as CFData
        #expect(data as Data == Data([1]))
        #expect(data as NSData == NSData(data: Data([1])))
        let reference = Data([1]) as CFTypeRef
        #expect(reference as? Data == Data([1]))
        let text = "ada" as CFString
        #expect(text as String == "ada" && text as NSString == "ada")
        let truth = kCFBooleanTrue!
        #expect(truth.boolValue)
        let array = ["a"] as CFArray
        #expect(array as? [String] == ["a"])
    }

    @Test("a query's status is returned")
    func statuses() {
        #expect(SecItemAdd([:] as CFDictionary, nil) == errSecParam)
        #expect(SecItemDelete([kSecAttrAccount: "ada"] as CFDictionary) == errSecParam)
        #expect(SecItemUpdate([:] as CFDictionary, [:] as CFDictionary) == errSecParam)
        var result: AnyObject?
        #expect(SecItemCopyMatching([:] as CFDictionary, &result) == errSecParam)
        var reference: CFTypeRef?
        let status = SecItemCopyMatching([:] as CFDictionary, &reference)
        #expect(status == errSecParam)
        let pointed = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching([:] as CFDictionary, UnsafeMutablePointer($0))
        }
        #expect(pointed == errSecParam)
        guard status != noErr else { return }
        let message = SecCopyErrorMessageString(status, nil) as String?
        #expect(message == "One or more parameters passed to a function were not valid.")
        switch status {
        case errSecSuccess, errSecItemNotFound: Issue.record("another status")
        case errSecParam: break
        default: Issue.record("another status")
        }
        let error = NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
        #expect(error.code == -50)
    }
}

@Suite("Results in an iOS app")
struct ResultIdiomsTests {
    @Test("a result can be data")
    func data() {
        let result: CFTypeRef? = NSData(data: Data([1, 2]))
        #expect(result as? Data == Data([1, 2]))
        #expect(result as! Data == Data([1, 2]))
        #expect((result as? NSData)?.length == 2)
        #expect((result as! CFData as Data).count == 2)
        #expect(CFGetTypeID(result) == CFDataGetTypeID())
        let object: AnyObject? = result
        if let data = object as? Data { #expect(data.count == 2) } else { Issue.record("no data") }
    }

    @Test("a result can be a dictionary")
    func dictionary() {
        let date = Date(timeIntervalSince1970: 7)
        let contents: [String: Any] = ["acct": "ada", "v_Data": Data([1]), "mdat": date, "invi": true]
        let result: CFTypeRef? = contents as NSDictionary
        #expect((result as? [String: Any])?[kSecAttrAccount as String] as? String == "ada")
        #expect((result as? [String: Any])?[kSecValueData as String] as? Data == Data([1]))
        #expect((result as? [CFString: Any])?[kSecAttrModificationDate] as? Date == date)
        #expect((result as? [AnyHashable: Any])?[kSecAttrIsInvisible as String] as? Bool == true)
        #expect((result as? NSDictionary)?[kSecAttrAccount] as? String == "ada")
        #expect((result as? [String: AnyObject])?[kSecValueData as String] as? Data == Data([1]))
        #expect((result as! CFDictionary as NSDictionary).count == 4)
        guard let existing = result as? [String: Any],
            let secret = existing[String(kSecValueData)] as? Data,
            let account = existing[kSecAttrAccount as String] as? String
        else {
            Issue.record("the usual guard fails")
            return
        }
        #expect(secret.count == 1 && account == "ada")
    }

    @Test("a result can be an array")
    func array() {
        let result: CFTypeRef? = [["acct": "ada"], ["acct": "grace"]] as NSArray
        #expect((result as? [[String: Any]])?.count == 2)
        #expect((result as? [[CFString: Any]])?[1][kSecAttrAccount] as? String == "grace")
        #expect((result as? NSArray)?.count == 2)
        #expect((result as? [NSDictionary])?.count == 2)
        #expect((result as! CFArray as! [NSDictionary])[0][kSecAttrAccount] as? String == "ada")
        let octets: CFTypeRef? = [Data([1]), Data([2])] as NSArray
        #expect(octets as? [Data] == [Data([1]), Data([2])])
    }

    @Test("a result can be nil")
    func nothing() {
        let result: CFTypeRef? = nil
        #expect(result as? Data == nil)
        #expect(result as? [String: Any] == nil)
    }
}

@Suite("Access controls in an iOS app")
struct AccessControlIdiomsTests {
    @Test("the protection can be a constant or an object")
    func protection() {
        var error: Unmanaged<CFError>?
        let one = SecAccessControlCreateWithFlags(
            nil,
            kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
            .biometryCurrentSet,
            &error
        )
        #expect(one != nil && error == nil)
        let two = SecAccessControlCreateWithFlags(
            kCFAllocatorDefault,
            kSecAttrAccessibleWhenUnlocked as CFTypeRef,
            [.touchIDCurrentSet, .or, .devicePasscode],
            nil
        )
        #expect(two != nil)
        guard let accessControl = one else { return }
        #expect(CFGetTypeID(accessControl) == SecAccessControlGetTypeID())
        let query: [String: Any] = [kSecAttrAccessControl as String: accessControl as Any]
        #expect(query[kSecAttrAccessControl as String] as! SecAccessControl == accessControl)
        let object: AnyObject = accessControl
        #expect(object as! SecAccessControl === accessControl)
    }

    @Test("an error can be inspected or thrown")
    func errors() {
        func make() throws -> SecAccessControl {
            var error: Unmanaged<CFError>?
            guard
                let made = SecAccessControlCreateWithFlags(
                    nil,
                    kSecAttrAccessibleWhenUnlocked,
                    [.or, .and],
                    &error
                )
            else { throw error!.takeRetainedValue() as Error }
            return made
        }
        do {
            _ = try make()
            Issue.record("made in spite of a contradiction")
        } catch let error as NSError {
            #expect(error.domain == NSOSStatusErrorDomain && error.code == Int(errSecParam))
        }
        var error: Unmanaged<CFError>?
        _ = SecAccessControlCreateWithFlags(nil, "unknown" as CFString, .userPresence, &error)
        if let failure = error?.takeRetainedValue() {
            #expect(CFErrorGetCode(failure) == -50)
            #expect(CFErrorGetDomain(failure) as String == NSOSStatusErrorDomain)
            #expect((CFErrorCopyDescription(failure) as String).isEmpty == false)
            #expect((failure as NSError).code == -50)
            #expect((failure as Error).localizedDescription.isEmpty == false)
        } else {
            Issue.record("no error")
        }
    }
}

@Suite("LAContext in an iOS app")
struct ContextIdiomsTests {
    @Test("canEvaluatePolicy is called with and without an error")
    func canEvaluate() {
        func biometry(_ context: LAContext) -> String {
            var error: NSError?
            guard context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) else {
                switch error {
                case let error as LAError where error.code == .biometryNotEnrolled: return "none enrolled"
                default: return error?.localizedDescription ?? ""
                }
            }
            switch context.biometryType {
            case .none: return "none"
            case .touchID: return "touch"
            case .faceID: return "face"
            case .opticID: return "optic"
            @unknown default: return "unknown"
            }
        }
        let context = LAContext()
        context.invalidate()
        #expect(biometry(context).isEmpty == false)
        #expect(context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil) == false)
    }

    @Test("a policy is evaluated with a closure")
    func closure() async {
        let context = LAContext()
        context.invalidate()
        context.localizedFallbackTitle = ""
        context.localizedCancelTitle = "Stop"
        let reason: LAError.Code? = await withCheckedContinuation { continuation in
            context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Log in") { success, error in
                guard success == false, let error = error as? LAError else {
                    return continuation.resume(returning: nil)
                }
                switch error.code {
                case .authenticationFailed, .userCancel, .userFallback, .systemCancel, .passcodeNotSet: break
                case .touchIDNotAvailable, .touchIDNotEnrolled, .touchIDLockout: break
                default: break
                }
                continuation.resume(returning: error.code)
            }
        }
        #expect(reason == .invalidContext)
    }

    @Test("a policy is evaluated with await")
    func awaited() async {
        let context = LAContext()
        context.invalidate()
        do {
            let success = try await context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics,
                localizedReason: "Log in"
            )
            #expect(success == false)
        } catch LAError.userCancel, LAError.appCancel {
            Issue.record("another reason")
        } catch let error as LAError where error.code == .invalidContext {
            #expect(error.errorCode == -10)
        } catch {
            Issue.record("another error")
        }
    }

    @Test("a context is passed in a query")
    func inQuery() {
        let context = LAContext()
        context.interactionNotAllowed = true
        context.localizedReason = "Read the note"
        context.touchIDAuthenticationAllowableReuseDuration =
            LATouchIDAuthenticationMaximumAllowableReuseDuration
        let query: [String: Any] = [
            kSecUseAuthenticationContext as String: context,
            kSecUseAuthenticationUI as String: kSecUseAuthenticationUIFail,
            kSecUseOperationPrompt as String: "Read the note",
        ]
        #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecParam)
        if #available(iOS 17.0, macOS 14.0, *) {
            #expect(query.count == 3)
        }
    }
}
