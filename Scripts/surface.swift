// Generates Tests/SurfaceTests/Generated from a list of Apple's public names, Scripts/apple-names.tsv: each name of priority
// `must` or `should` becomes a line that compiles only if name, kind and type match, and that checks the value if the list has
// one. The generated files are committed; run this when the list changes (Scripts/lint compares).
//
//   swift Scripts/surface.swift [DIRECTORY]      to another directory
//
// Columns of the list: module, kind, name in Swift, availability, priority, note. A note "wrappers 3/11" is the number of eleven
// well-known keychain libraries that use it.

import Foundation

struct Row {
    let module: String
    let kind: String
    let name: String
    let note: String

    /// The name without its type.
    var path: String { String(name.prefix { $0 != ":" && $0 != " " }) }
    /// The type after the name's colon, without remarks in parentheses.
    var type: String? {
        guard let colon = name.range(of: ": ") else { return nil }
        let text = name[colon.upperBound...]
        for remark in [" (static)", " (class)"] where text.hasSuffix(remark) {
            return String(text.dropLast(remark.count))
        }
        return String(text)
    }
    var isStatic: Bool { name.hasSuffix("(static)") || name.hasSuffix("(class)") }
    /// The type that a member belongs to.
    var owner: String { path.split(separator: ".").dropLast().joined(separator: ".") }
    /// The member's own name.
    var member: String { String(path.split(separator: ".").last ?? "") }
    /// The value in the note after this key.
    func noted(_ place: Regex<(Substring, Substring)>) -> String? {
        note.firstMatch(of: place).map { String($0.1) }
    }
}

// MARK: Types missing from the list

let error = "UnsafeMutablePointer<Unmanaged<CFError>?>?"
let octets = "UnsafePointer<UInt8>, Int"
let room = "UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>"
let list = "UnsafeMutablePointer<UnsafeRawPointer?>?"
let callBacks = "UnsafePointer<CFDictionaryKeyCallBacks>?, UnsafePointer<CFDictionaryValueCallBacks>?"
let functions: [String: String] = [
    "SecItemAdd": "(CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus",
    "SecItemCopyMatching": "(CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus",
    "SecItemUpdate": "(CFDictionary, CFDictionary) -> OSStatus",
    "SecItemDelete": "(CFDictionary) -> OSStatus",
    "SecAccessControlGetTypeID": "() -> CFTypeID",
    "SecAccessControlCreateWithFlags":
        "(CFAllocator?, CFTypeRef, SecAccessControlCreateFlags, \(error)) -> SecAccessControl?",
    "SecKeyGetTypeID": "() -> CFTypeID",
    "SecKeyCreateRandomKey": "(CFDictionary, \(error)) -> SecKey?",
    "SecKeyCreateWithData": "(CFData, CFDictionary, \(error)) -> SecKey?",
    "SecKeyCopyExternalRepresentation": "(SecKey, \(error)) -> CFData?",
    "SecKeyCopyAttributes": "(SecKey) -> CFDictionary?",
    "SecKeyCopyPublicKey": "(SecKey) -> SecKey?",
    "SecKeyGetBlockSize": "(SecKey) -> Int",
    "SecKeyCreateSignature": "(SecKey, SecKeyAlgorithm, CFData, \(error)) -> CFData?",
    "SecKeyVerifySignature": "(SecKey, SecKeyAlgorithm, CFData, CFData, \(error)) -> Bool",
    "SecKeyCreateEncryptedData": "(SecKey, SecKeyAlgorithm, CFData, \(error)) -> CFData?",
    "SecKeyCreateDecryptedData": "(SecKey, SecKeyAlgorithm, CFData, \(error)) -> CFData?",
    "SecKeyCopyKeyExchangeResult": "(SecKey, SecKeyAlgorithm, SecKey, CFDictionary, \(error)) -> CFData?",
    "SecKeyIsAlgorithmSupported": "(SecKey, SecKeyOperationType, SecKeyAlgorithm) -> Bool",
    "SecKeyGeneratePair":
        "(CFDictionary, UnsafeMutablePointer<SecKey?>?, UnsafeMutablePointer<SecKey?>?) -> OSStatus",
    "SecKeyRawSign":
        "(SecKey, SecPadding, \(octets), \(room)) -> OSStatus",
    "SecKeyRawVerify":
        "(SecKey, SecPadding, \(octets), \(octets)) -> OSStatus",
    "SecKeyEncrypt":
        "(SecKey, SecPadding, \(octets), \(room)) -> OSStatus",
    "SecKeyDecrypt":
        "(SecKey, SecPadding, \(octets), \(room)) -> OSStatus",
    "SecCopyErrorMessageString": "(OSStatus, UnsafeMutableRawPointer?) -> CFString?",
    "SecRandomCopyBytes": "(SecRandomRef?, Int, UnsafeMutableRawPointer) -> Int32",
    "SecCreateSharedWebCredentialPassword": "() -> CFString?",
    "CFGetTypeID": "(CFTypeRef?) -> CFTypeID",
    "CFErrorGetCode": "(CFError?) -> CFIndex",
    "CFErrorGetDomain": "(CFError?) -> CFString?",
    "CFErrorCopyDescription": "(CFError?) -> CFString?",
    "CFErrorCopyUserInfo": "(CFError?) -> CFDictionary?",
    "CFErrorCreate": "(CFAllocator?, CFString?, CFIndex, CFDictionary?) -> CFError?",
    "CFEqual": "(CFTypeRef?, CFTypeRef?) -> Bool",
    "CFHash": "(CFTypeRef?) -> CFHashCode",
    "CFCopyDescription": "(CFTypeRef?) -> CFString?",
    "CFDictionaryGetValue": "(CFDictionary?, UnsafeRawPointer?) -> UnsafeRawPointer?",
    "CFDictionaryCreate":
        "(CFAllocator?, \(list), \(list), CFIndex, \(callBacks)) -> CFDictionary?",
    "CFDictionaryCreateMutable":
        "(CFAllocator?, CFIndex, \(callBacks)) -> CFMutableDictionary?",
    "CFDictionaryAddValue": "(CFMutableDictionary?, UnsafeRawPointer?, UnsafeRawPointer?) -> Void",
    "CFDictionarySetValue": "(CFMutableDictionary?, UnsafeRawPointer?, UnsafeRawPointer?) -> Void",
    "CFDataCreate": "(CFAllocator?, UnsafePointer<UInt8>?, CFIndex) -> CFData?",
    "CFDataGetBytePtr": "(CFData?) -> UnsafePointer<UInt8>?",
    "CFDataGetLength": "(CFData?) -> CFIndex",
    "CFArrayGetCount": "(CFArray?) -> CFIndex",
    "CFArrayGetValueAtIndex": "(CFArray?, CFIndex) -> UnsafeRawPointer?",
    "CFDictionaryGetTypeID": "() -> CFTypeID",
    "CFDataGetTypeID": "() -> CFTypeID",
    "CFArrayGetTypeID": "() -> CFTypeID",
    "CFStringGetTypeID": "() -> CFTypeID",
]

/// Calls whose last argument is a completion handler: the object, its other arguments, the handler's parameters.
func completion(_ owner: String, _ call: String, _ parameters: String) -> String {
    let inputs = parameters.split(separator: ",").map { "_:" + $0 }.joined(separator: ", ")
    let comma = call.hasSuffix("(") ? "" : ", "
    return "let _: (\(owner)) -> Void = { $0.\(call)\(comma)completion: { (\(inputs)) in }) }"
}

/// A call that is awaited and may throw.
func awaited(_ owner: String, _ call: String, _ result: String = "Void") -> [String] {
    ["let _: (\(owner)) async throws -> \(result) = { try await $0.\(call) }"]
}

/// A method by its full name and type.
func method(_ owner: String, _ name: String, _ type: String) -> [String] {
    ["let _: (\(owner)) -> \(type) = \(owner).\(name)"]
}

let fail = "(any Error)?"
let key = ".ecdsaSignatureMessageX962SHA256"
let enclaveKey = "SecureEnclave.P256"
/// Lines for names whose type is not in the list.
let spelled: [String: [String]] = [
    "LAContext.init()": ["let _: () -> LAContext = LAContext.init"],
    "LAContext.canEvaluatePolicy(_:error:) -> Bool": method(
        "LAContext",
        "canEvaluatePolicy(_:error:)",
        "(LAPolicy, NSErrorPointer) -> Bool"
    ),
    "LAContext.evaluatePolicy(_:localizedReason:reply:)": [
        "let _: (LAContext) -> Void = { $0.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: \"\", reply: { (_: Bool, _: \(fail)) in }) }"
    ],
    "LAContext.evaluatePolicy(_:localizedReason:) async throws -> Bool": awaited(
        "LAContext",
        "evaluatePolicy(.deviceOwnerAuthentication, localizedReason: \"\")",
        "Bool"
    ),
    "LAContext.evaluateAccessControl(_:operation:localizedReason:reply:)": [
        "let _: (LAContext, SecAccessControl) -> Void = { $0.evaluateAccessControl($1, operation: .useItem, localizedReason: \"\", reply: { (_: Bool, _: \(fail)) in }) }"
    ],
    "LAContext.evaluateAccessControl(_:operation:localizedReason:) async throws -> Bool": awaited(
        "LAContext, SecAccessControl",
        "evaluateAccessControl($1, operation: .useItem, localizedReason: \"\")",
        "Bool"
    ),
    "LAContext.invalidate()": method("LAContext", "invalidate", "() -> Void"),
    "LAContext.setCredential(_:type:) -> Bool": method(
        "LAContext",
        "setCredential(_:type:)",
        "(Data?, LACredentialType) -> Bool"
    ),
    "LAContext.isCredentialSet(_:) -> Bool": method(
        "LAContext",
        "isCredentialSet(_:)",
        "(LACredentialType) -> Bool"
    ),
    "LAPolicy.deviceOwnerAuthenticationWithWatch": [
        "#expect(LAPolicy.deviceOwnerAuthenticationWithWatch.rawValue == 3)"
    ],
    "LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch": [
        "#expect(LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch.rawValue == 4)"
    ],
    "LABiometryType.LABiometryNone": ["let _: LABiometryType = .LABiometryNone"],
    "LAError": ["let _: (LAError) -> any Error = { $0 }", "let _: (LAError) -> NSError = { $0 as NSError }"],
    "LAError.errorDomain: String (static)": [
        "#expect(LAError.errorDomain == \"com.apple.LocalAuthentication\")"
    ],
    "LAErrorDomain: String": ["#expect(LAErrorDomain == \"com.apple.LocalAuthentication\")"],
    "LAError.init(_ code: LAError.Code, userInfo: [String: Any] = [:])": [
        "let _: LAError = LAError(.userCancel)", "let _: LAError = LAError(.userCancel, userInfo: [:])",
    ],
    "LAError.init(_nsError: NSError)": ["let _: (NSError) -> LAError = LAError.init(_nsError:)"],
    "~= (LAError.Code, any Error) -> Bool": ["let _: (any Error) -> Bool = { LAError.userCancel ~= $0 }"],
    "LAError.Code.touchIDNotAvailable": ["#expect(LAError.Code.touchIDNotAvailable.rawValue == -6)"],
    "LAError.Code.touchIDNotEnrolled": ["#expect(LAError.Code.touchIDNotEnrolled.rawValue == -7)"],
    "LAError.Code.touchIDLockout": ["#expect(LAError.Code.touchIDLockout.rawValue == -8)"],
    "LADomainStateCompanion.stateHash(for:) -> Data?": method(
        "LADomainStateCompanion",
        "stateHash(for:)",
        "(LACompanionType) -> Data?"
    ),
    "LAEnvironment.addObserver(_:)": method(
        "LAEnvironment",
        "addObserver(_:)",
        "(any LAEnvironment.Observer) -> Void"
    ),
    "LAEnvironment.removeObserver(_:)": method(
        "LAEnvironment",
        "removeObserver(_:)",
        "(any LAEnvironment.Observer) -> Void"
    ),
    "LAEnvironment.Observer: NSObjectProtocol": [
        "final class Silent: NSObject, LAEnvironment.Observer {}",
        "let _: (any LAEnvironment.Observer) -> any NSObjectProtocol = { $0 }",
    ],
    "LAEnvironment.Observer.environment(_:stateDidChangeFromOldState:)": [
        "final class Curious: NSObject, LAEnvironment.Observer { func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {} }"
    ],
    "LARight.init()": ["let _: () -> LARight = LARight.init"],
    "LARight.init(requirement:)": [
        "let _: (LAAuthenticationRequirement) -> LARight = LARight.init(requirement:)"
    ],
    "LARight.authorize(localizedReason:completion:)": [
        completion("LARight", "authorize(localizedReason: \"\"", fail)
    ],
    "LARight.authorize(localizedReason:) async throws": awaited(
        "LARight",
        "authorize(localizedReason: \"\")"
    ),
    "LARight.checkCanAuthorize(completion:)": [completion("LARight", "checkCanAuthorize(", fail)],
    "LARight.checkCanAuthorize() async throws": awaited("LARight", "checkCanAuthorize()"),
    "LARight.deauthorize(completion:)": [completion("LARight", "deauthorize(", "")],
    "LARight.deauthorize() async": ["let _: (LARight) async -> Void = { await $0.deauthorize() }"],
    "LASecret.loadData(completion:)": [completion("LASecret", "loadData(", "Data?, \(fail)")],
    "LAPrivateKey.canSign(using:) -> Bool": method(
        "LAPrivateKey",
        "canSign(using:)",
        "(SecKeyAlgorithm) -> Bool"
    ),
    "LAPrivateKey.sign(_:algorithm:completion:)": [
        completion("LAPrivateKey", "sign(Data(), algorithm: \(key)", "Data?, \(fail)")
    ],
    "LAPrivateKey.sign(_:algorithm:) async throws -> Data": awaited(
        "LAPrivateKey",
        "sign(Data(), algorithm: \(key))",
        "Data"
    ),
    "LAPrivateKey.canDecrypt(using:) -> Bool": method(
        "LAPrivateKey",
        "canDecrypt(using:)",
        "(SecKeyAlgorithm) -> Bool"
    ),
    "LAPrivateKey.decrypt(_:algorithm:completion:)": [
        completion("LAPrivateKey", "decrypt(Data(), algorithm: \(key)", "Data?, \(fail)")
    ],
    "LAPrivateKey.decrypt(_:algorithm:) async throws -> Data": awaited(
        "LAPrivateKey",
        "decrypt(Data(), algorithm: \(key))",
        "Data"
    ),
    "LAPrivateKey.canExchangeKeys(using:) -> Bool": method(
        "LAPrivateKey",
        "canExchangeKeys(using:)",
        "(SecKeyAlgorithm) -> Bool"
    ),
    "LAPrivateKey.exchangeKeys(publicKey:algorithm:parameters:completion:)": [
        completion(
            "LAPrivateKey",
            "exchangeKeys(publicKey: Data(), algorithm: .ecdhKeyExchangeStandard, parameters: [:]",
            "Data?, \(fail)"
        )
    ],
    "LAPrivateKey.exchangeKeys(publicKey:algorithm:parameters:) async throws -> Data": awaited(
        "LAPrivateKey, [AnyHashable: Any]",
        "exchangeKeys(publicKey: Data(), algorithm: .ecdhKeyExchangeStandard, parameters: $1)",
        "Data"
    ),
    "LAPublicKey.exportBytes(completion:)": [completion("LAPublicKey", "exportBytes(", "Data?, \(fail)")],
    "LAPublicKey.canEncrypt(using:) -> Bool": method(
        "LAPublicKey",
        "canEncrypt(using:)",
        "(SecKeyAlgorithm) -> Bool"
    ),
    "LAPublicKey.encrypt(_:algorithm:completion:)": [
        completion("LAPublicKey", "encrypt(Data(), algorithm: \(key)", "Data?, \(fail)")
    ],
    "LAPublicKey.encrypt(_:algorithm:) async throws -> Data": awaited(
        "LAPublicKey",
        "encrypt(Data(), algorithm: \(key))",
        "Data"
    ),
    "LAPublicKey.canVerify(using:) -> Bool": method(
        "LAPublicKey",
        "canVerify(using:)",
        "(SecKeyAlgorithm) -> Bool"
    ),
    "LAPublicKey.verify(_:signature:algorithm:completion:)": [
        completion("LAPublicKey", "verify(Data(), signature: Data(), algorithm: \(key)", fail)
    ],
    "LAPublicKey.verify(_:signature:algorithm:) async throws": awaited(
        "LAPublicKey",
        "verify(Data(), signature: Data(), algorithm: \(key))"
    ),
    "LARightStore.right(forIdentifier:completion:)": [
        completion("LARightStore", "right(forIdentifier: \"\"", "LAPersistedRight?, \(fail)")
    ],
    "LARightStore.right(forIdentifier:) async throws -> LAPersistedRight": awaited(
        "LARightStore",
        "right(forIdentifier: \"\")",
        "LAPersistedRight"
    ),
    "LARightStore.saveRight(_:identifier:completion:)": [
        "let _: (LARightStore, LARight) -> Void = { $0.saveRight($1, identifier: \"\", completion: { (_: LAPersistedRight?, _: \(fail)) in }) }"
    ],
    "LARightStore.saveRight(_:identifier:) async throws -> LAPersistedRight": awaited(
        "LARightStore, LARight",
        "saveRight($1, identifier: \"\")",
        "LAPersistedRight"
    ),
    "LARightStore.saveRight(_:identifier:secret:completion:)": [
        "let _: (LARightStore, LARight) -> Void = { $0.saveRight($1, identifier: \"\", secret: Data(), completion: { (_: LAPersistedRight?, _: \(fail)) in }) }"
    ],
    "LARightStore.saveRight(_:identifier:secret:) async throws -> LAPersistedRight": awaited(
        "LARightStore, LARight",
        "saveRight($1, identifier: \"\", secret: Data())",
        "LAPersistedRight"
    ),
    "LARightStore.removeRight(_:completion:)": [
        "let _: (LARightStore, LAPersistedRight) -> Void = { $0.removeRight($1, completion: { (_: \(fail)) in }) }"
    ],
    "LARightStore.removeRight(_:) async throws": awaited("LARightStore, LAPersistedRight", "removeRight($1)"),
    "LARightStore.removeRight(forIdentifier:completion:)": [
        completion("LARightStore", "removeRight(forIdentifier: \"\"", fail)
    ],
    "LARightStore.removeRight(forIdentifier:) async throws": awaited(
        "LARightStore",
        "removeRight(forIdentifier: \"\")"
    ),
    "LARightStore.removeAllRights(completion:)": [completion("LARightStore", "removeAllRights(", fail)],
    "LARightStore.removeAllRights() async throws": awaited("LARightStore", "removeAllRights()"),
    "LAPersistedRight: LARight": ["let _: (LAPersistedRight) -> LARight = { $0 }"],
    "LAAuthenticationRequirement.default (class)": [
        "let _: () -> LAAuthenticationRequirement = { .default }"
    ],
    "LAAuthenticationRequirement.biometry (class)": [
        "let _: () -> LAAuthenticationRequirement = { .biometry }"
    ],
    "LAAuthenticationRequirement.biometryCurrentSet (class)": [
        "let _: () -> LAAuthenticationRequirement = { .biometryCurrentSet }"
    ],
    "LAAuthenticationRequirement.biometry(fallback:) (class)": [
        "let _: (LABiometryFallbackRequirement) -> LAAuthenticationRequirement = { .biometry(fallback: $0) }"
    ],
    "LABiometryFallbackRequirement.default (class)": [
        "let _: () -> LABiometryFallbackRequirement = { .default }"
    ],
    "LABiometryFallbackRequirement.devicePasscode (class)": [
        "let _: () -> LABiometryFallbackRequirement = { .devicePasscode }"
    ],
    "SecRandomRef": ["let _: SecRandomRef.Type = SecRandomRef.self"],
    "SecAccessControlCreateFlags: OptionSet": [
        "isOptionSet(SecAccessControlCreateFlags.self, of: CFOptionFlags.self)"
    ],
    "SecPadding: OptionSet": ["isOptionSet(SecPadding.self, of: UInt32.self)"],
    "SecKeyKeyExchangeParameter: RawRepresentable": [
        "isRawRepresentable(SecKeyKeyExchangeParameter.self, by: CFString.self)"
    ],
    "SecKeyAlgorithm: RawRepresentable": ["isRawRepresentable(SecKeyAlgorithm.self, by: CFString.self)"],
    "Unmanaged<CFError>.takeRetainedValue() / takeUnretainedValue()": [
        "let _: (Unmanaged<CFError>) -> CFError = { $0.takeRetainedValue() }",
        "let _: (Unmanaged<CFError>) -> any Error = { $0.takeUnretainedValue() as Error }",
    ],
    "OSStatus = Int32": ["let _: OSStatus.Type = Int32.self"],
    "NSErrorPointer": [
        "let _: (inout NSError?, (NSErrorPointer) -> Void) -> Void = { $1(&$0) }",
        "let _: NSErrorPointer = nil",
    ],
    "NSOSStatusErrorDomain: String": ["#expect(NSOSStatusErrorDomain == \"NSOSStatusErrorDomain\")"],
    "NSMutableDictionary.setValue(_:forKey:)": method(
        "NSMutableDictionary",
        "setValue(_:forKey:)",
        "(Any?, String) -> Void"
    ),
    "NSMapTable": ["let _: () -> NSMapTable<NSString, NSObject> = { .strongToWeakObjects() }"],
    "autoreleasepool(invoking:)": ["#expect(autoreleasepool(invoking: { 7 }) == 7)"],
    "String(_: CFString) / `cfString as String` / `string as CFString`": [
        "let _: (CFString) -> String = { String($0) }", "let _: (CFString) -> String = { $0 as String }",
        "let _: (String) -> CFString = { $0 as CFString }",
    ],
    "`[String: Any] as CFDictionary`, `[CFString: Any] as CFDictionary`, `AnyObject as? [String: Any]`": [
        "let _: ([String: Any]) -> CFDictionary = { $0 as CFDictionary }",
        "let _: ([CFString: Any]) -> CFDictionary = { $0 as CFDictionary }",
        "let _: ([String: AnyHashable]) -> CFDictionary = { $0 as CFDictionary }",
        "let _: (NSDictionary) -> CFDictionary = { $0 }",
        "let _: (AnyObject) -> [String: Any]? = { $0 as? [String: Any] }",
    ],
    "SecureEnclave / SecureEnclave.isAvailable": ["let _: () -> Bool = { SecureEnclave.isAvailable }"],
    "SecureEnclave.P256.Signing.PrivateKey (init(accessControl:authenticationContext:), dataRepresentation, publicKey, signature(for:))":
        [
            "typealias SigningKey = \(enclaveKey).Signing.PrivateKey",
            "let _: () throws -> SigningKey = { try SigningKey() }",
            "let _: (SecAccessControl, LAContext?) throws -> SigningKey = { try SigningKey(accessControl: $0, authenticationContext: $1) }",
            "let _: (SecAccessControl) throws -> SigningKey = { try SigningKey(compactRepresentable: true, accessControl: $0) }",
            "let _: (Data, LAContext?) throws -> SigningKey = { try SigningKey(dataRepresentation: $0, authenticationContext: $1) }",
            "let _: (SigningKey) -> Data = { $0.dataRepresentation }",
            "let _: (SigningKey) -> P256.Signing.PublicKey = { $0.publicKey }",
            "let _: (SigningKey, Data) throws -> P256.Signing.ECDSASignature = { try $0.signature(for: $1) }",
            "let _: (SigningKey, SHA256.Digest) throws -> P256.Signing.ECDSASignature = { try $0.signature(for: $1) }",
        ],
    "SecureEnclave.P256.KeyAgreement.PrivateKey": [
        "typealias AgreementKey = \(enclaveKey).KeyAgreement.PrivateKey",
        "let _: (SecAccessControl, LAContext?) throws -> AgreementKey = { try AgreementKey(accessControl: $0, authenticationContext: $1) }",
        "let _: (Data, LAContext?) throws -> AgreementKey = { try AgreementKey(dataRepresentation: $0, authenticationContext: $1) }",
        "let _: (AgreementKey) -> Data = { $0.dataRepresentation }",
        "let _: (AgreementKey) -> P256.KeyAgreement.PublicKey = { $0.publicKey }",
        "let _: (AgreementKey, P256.KeyAgreement.PublicKey) throws -> SharedSecret = { try $0.sharedSecretFromKeyAgreement(with: $1) }",
    ],
]
/// Properties that apps set.
let settable: Set<String> = [
    "LAContext.localizedFallbackTitle", "LAContext.localizedCancelTitle", "LAContext.localizedReason",
    "LAContext.interactionNotAllowed", "LAContext.touchIDAuthenticationAllowableReuseDuration",
    "LAContext.maxBiometryFailures", "LARight.tag",
]
/// Names without a line, with the reason.
let leftOut = [
    "implicit re-export of Security and CoreFoundation by `import Foundation`": "an option of the compiler",
]

// MARK: Lines

/// The Swift case with the same value as a preprocessor constant, as an expression.
func twin(of define: String) -> String? {
    let prefixes = [
        ("kLAPolicy", "LAPolicy"), ("kLAError", "LAError.Code"), ("kLABiometryType", "LABiometryType"),
        ("kLAAccessControlOperation", "LAAccessControlOperation"), ("kLACompanionType", "LACompanionType"),
        ("kLACredentialType", "LACredentialType"), ("kLACredential", "LACredentialType"),
    ]
    let caseless = ["Domain", "InvalidDimensions", "WithWristDetection"]
    guard !caseless.contains(where: define.hasSuffix),
        let (prefix, type) = prefixes.first(where: { define.hasPrefix($0.0) })
    else { return nil }
    let name = define.dropFirst(prefix.count)
    return "\(type).\(name.prefix(1).lowercased())\(name.dropFirst())"
}

func lines(for row: Row) -> [String] {
    if let reason = leftOut[row.name] { return ["// \(row.name): left out; \(reason)."] }
    if let lines = spelled[row.name] { return lines }
    switch row.kind {
    case "const":
        if let type = row.type {
            let type = type.replacing("!", with: "?")
            if row.path.hasPrefix("kLA") {
                guard let twin = twin(of: row.path) else { return ["let _: \(type) = \(row.path)"] }
                return ["let _: \(type) = \(row.path)", "#expect(Int(\(row.path)) == \(twin).rawValue)"]
            }
            if type == "OSStatus", let number = row.noted(#/^(-?[0-9]+)/#) {
                return ["expect(\(row.path), \(number))"]
            }
            return ["let _: \(type) = \(row.path)"]
        }
        if let value = row.noted(#/value "([^"]*)"/#) { return ["expect(\(row.path), \"\(value)\")"] }
        return ["let _: CFString = \(row.path)"]
    case "func":
        return row.name.components(separatedBy: " / ").map { part in
            let name = String(part.prefix { $0 != "(" })
            return "let _: \(functions[name]!) = \(name)"
        }
    case "class" where row.module == "Security":
        return ["let _: (Any) -> \(row.path) = { $0 as! \(row.path) }"]
    case "class": return ["isClass(\(row.path).self)"]
    case "typealias": return ["let _: \(row.path).Type = \(row.path).self"]
    case "enum": return ["isRawRepresentable(\(row.path).self, by: \(row.type!).self)"]
    case "case":
        return ["#expect(\(row.path).rawValue == \(row.noted(#/raw (-?[0-9]+)/#)!))"]
    case "flag":
        guard let bit = row.noted(#/1<<([0-9]+)/#) else { return ["let _: \(row.owner) = .\(row.member)"] }
        return ["#expect(\(row.path).rawValue == 1 << \(bit))"]
    case "method" where row.name.hasSuffix("init?(rawValue: Int)"):
        return ["let _: (Int) -> \(row.owner)? = \(row.owner).init(rawValue:)"]
    case "property":
        guard let type = row.type else { return ["let _: \(row.owner) = .\(row.member)"] }
        if type.hasSuffix("{ get async throws }") {
            let type = type.prefix { $0 != " " }
            return ["let _: (\(row.owner)) async throws -> \(type) = { try await $0.\(row.member) }"]
        }
        if row.isStatic { return ["let _: () -> \(type) = { \(row.path) }"] }
        let keyPath = settable.contains(row.path) ? "ReferenceWritableKeyPath" : "KeyPath"
        return ["let _: \(keyPath)<\(row.owner), \(type)> = \\.\(row.member)"]
    default: fatalError("no line for \(row.kind) \(row.name)")
    }
}

// MARK: Files

struct Source {
    let name: String
    let suite: String
    let imports: [String]
    let belongs: (Row) -> Bool
}

let rights = [
    "LARight", "LAPersistedRight", "LASecret", "LAPrivateKey", "LAPublicKey", "LAAuthenticationReq",
    "LABiometryFallback",
]
let environment = ["LAEnvironment", "LADomainState", "LACompanionType"]
func starts(_ row: Row, _ prefixes: [String]) -> Bool { prefixes.contains { row.name.hasPrefix($0) } }
let sources = [
    Source(name: "SecKeyAlgorithm", suite: "SecKeyAlgorithm", imports: ["Security"]) {
        $0.module == "Security" && starts($0, ["SecKeyAlgorithm."])
    },
    Source(name: "SecKey", suite: "SecKey", imports: ["Security"]) {
        $0.module == "Security" && starts($0, ["SecKey", "SecPadding"])
    },
    Source(name: "SecurityStatus", suite: "Security's statuses", imports: ["Security"]) {
        $0.module == "Security" && starts($0, ["errSec"])
    },
    Source(name: "SecurityConstant", suite: "Security's constants", imports: ["Security"]) {
        $0.module == "Security" && starts($0, ["kSec"])
    },
    Source(name: "SecurityFunction", suite: "Security's functions", imports: ["Security"]) {
        $0.module == "Security"
    },
    Source(name: "LARight", suite: "LARight and its store", imports: ["LocalAuthentication", "Security"]) {
        $0.module == "LocalAuthentication" && starts($0, rights)
    },
    Source(name: "LAEnvironment", suite: "LAEnvironment", imports: ["Foundation", "LocalAuthentication"]) {
        $0.module == "LocalAuthentication" && starts($0, environment)
    },
    Source(name: "LAError", suite: "LAError", imports: ["Foundation", "LocalAuthentication"]) {
        $0.module == "LocalAuthentication" && starts($0, ["LAError", "~="])
    },
    Source(name: "LAPublicDefines", suite: "LAPublicDefines.h", imports: ["LocalAuthentication"]) {
        $0.module == "LocalAuthentication" && starts($0, ["kLA"])
    },
    Source(name: "LAContext", suite: "LAContext", imports: ["Foundation", "LocalAuthentication", "Security"])
    {
        $0.module == "LocalAuthentication"
    },
    Source(name: "CoreFoundation", suite: "CoreFoundation", imports: ["CoreFoundation"]) {
        $0.module == "CoreFoundation"
    },
    Source(
        name: "Foundation",
        suite: "Foundation, as keychain code uses it",
        imports: ["Foundation", "Security"]
    ) {
        $0.module == "Foundation" || $0.module == "Swift"
    },
    Source(
        name: "CryptoKit",
        suite: "SecureEnclave",
        imports: ["CryptoKit", "Foundation", "LocalAuthentication", "Security"]
    ) { $0.module == "CryptoKit" },
]

guard CommandLine.arguments.count <= 2,
    let list = try? String(contentsOfFile: "Scripts/apple-names.tsv", encoding: .utf8)
else {
    print("usage, from the repository's root: swift Scripts/surface.swift [DIRECTORY]")
    exit(64)
}
var rows = list.split(separator: "\n").compactMap { line -> Row? in
    let fields = line.components(separatedBy: "\t")
    guard !line.hasPrefix("#"), fields.count == 6, ["must", "should"].contains(fields[4]) else { return nil }
    return Row(module: fields[0], kind: fields[1], name: fields[2], note: fields[5])
}
let count = rows.count
let directory = CommandLine.arguments.dropFirst().first ?? "Tests/SurfaceTests/Generated"
try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
for source in sources {
    let (own, rest) = (rows.filter(source.belongs), rows.filter { !source.belongs($0) })
    rows = rest
    var text = "// Written by Scripts/surface.swift; changes are lost.\n// swift-format-ignore-file\n\n"
    text += (source.imports + ["Testing"]).sorted().map { "import \($0)\n" }.joined()
    text += "\n@Suite(\"The surface of \(source.suite)\")\nstruct \(source.name)SurfaceTests {\n"
    // A single function for all of them would compile slowly.
    let groups = stride(from: 0, to: own.count, by: 60).map { own[$0..<min($0 + 60, own.count)] }
    for (index, group) in groups.enumerated() {
        let part = groups.count == 1 ? "" : ", part \(index + 1)"
        text += index == 0 ? "" : "\n"
        text +=
            "    @Test(\"has Apple's names, types and values\(part)\")\n    func names\(groups.count == 1 ? "" : "\(index + 1)")() {\n"
        text += group.flatMap(lines).map { "        \($0)\n" }.joined() + "    }\n"
    }
    try (text + "}\n").write(
        toFile: "\(directory)/\(source.name)Surface.swift",
        atomically: true,
        encoding: .utf8
    )
}
guard rows.isEmpty else { fatalError("no file for \(rows)") }
print("\(count) lines of the list, \(leftOut.count) names left out")
