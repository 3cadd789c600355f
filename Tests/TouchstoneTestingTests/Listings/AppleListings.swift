import Foundation
import LocalAuthentication
import Security

/// The shape of the biometric managers that guides for iOS publish, with a `Bool` where they have one, but whose key signs.
struct IOSManager {
    private static let tag = Data("org.example.login".utf8)
    private static let biometrics = LAPolicy.deviceOwnerAuthenticationWithBiometrics

    func biometricType() -> LABiometryType {
        let context = LAContext()
        _ = context.canEvaluatePolicy(Self.biometrics, error: nil)
        return context.biometryType
    }

    func obstacle() -> LAError.Code? {
        var error: NSError?
        return LAContext().canEvaluatePolicy(Self.biometrics, error: &error) ? nil : (error as? LAError)?.code
    }

    func authenticate(_ policy: LAPolicy, _ reason: String) async -> String {
        let context = LAContext()
        context.localizedFallbackTitle = ""
        return await Outcome.of { _ = try await context.evaluatePolicy(policy, localizedReason: reason) }
    }

    /// One key for the tag, as the guides' own code forgets to see to.
    func createKey() -> OSStatus {
        SecItemDelete(Self.query as CFDictionary)
        guard
            let access = SecAccessControlCreateWithFlags(
                nil,
                kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                [.biometryCurrentSet, .privateKeyUsage],
                nil
            )
        else { return errSecParam }
        let attributes: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            kSecPrivateKeyAttrs: [
                kSecAttrIsPermanent: true, kSecAttrApplicationTag: Self.tag, kSecAttrAccessControl: access,
            ] as [CFString: Any],
        ]
        var error: Unmanaged<CFError>?
        guard SecKeyCreateRandomKey(attributes as CFDictionary, &error) == nil else { return errSecSuccess }
        return error.map { OSStatus(truncatingIfNeeded: CFErrorGetCode($0.takeRetainedValue())) }
            ?? errSecInternalComponent
    }

    func sign(_ challenge: Data, _ reason: String) -> String {
        let context = LAContext()
        context.localizedReason = reason
        var query = Self.query
        query[kSecReturnRef] = true
        query[kSecUseAuthenticationContext] = context
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        guard status == errSecSuccess, let found else { return "\(status)" }
        // swift-format-ignore: NeverForceUnwrap
        let key = found as! SecKey
        var error: Unmanaged<CFError>?
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        guard let signature = SecKeyCreateSignature(key, algorithm, challenge as CFData, &error) else {
            return error.map { "\(CFErrorGetCode($0.takeRetainedValue()))" } ?? "no error"
        }
        guard let publicKey = SecKeyCopyPublicKey(key) else { return "no public key" }
        return SecKeyVerifySignature(publicKey, algorithm, challenge as CFData, signature, nil)
            ? "ok" : "forged"
    }

    /// The context is the caller's, and is used after its end.
    func useAfterInvalidation() async -> String {
        let context = LAContext()
        context.invalidate()
        return await Outcome.of {
            _ = try await context.evaluatePolicy(Self.biometrics, localizedReason: "late")
        }
    }

    private static var query: [CFString: Any] {
        [kSecClass: kSecClassKey, kSecAttrApplicationTag: tag, kSecAttrKeyClass: kSecAttrKeyClassPrivate]
    }

    /// What an app does at its start, and then at each sign-in.
    func run() async -> [String] {
        var said = [
            "type \(biometricType().rawValue)", "obstacle \(obstacle().map { "\($0.rawValue)" } ?? "none")",
        ]
        said.append("biometrics \(await authenticate(Self.biometrics, "Open the vault"))")
        said.append("owner \(await authenticate(.deviceOwnerAuthentication, "Open the vault"))")
        said.append("sign \(sign(Data("challenge".utf8), "Sign in"))")
        said.append("create \(createKey())")
        said.append("sign \(sign(Data("another".utf8), "Sign in"))")
        said.append("late \(await useAfterInvalidation())")
        return said
    }
}

/// The two samples of OWASP's testing guide for iOS, with the account of the query that was stored.
struct OWASPSample {
    private static var query: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "OWASP Account", kSecAttrService: "OWASP"]
    }

    func evaluate() async -> String {
        let context = LAContext()
        var error: NSError?
        guard context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error) else {
            return "\((error as? LAError)?.code.rawValue ?? 0)"
        }
        return await withCheckedContinuation { continuation in
            context.evaluatePolicy(
                .deviceOwnerAuthentication,
                localizedReason: "Please, pass authorization to enter this area"
            ) {
                success,
                error in
                continuation.resume(returning: success ? "ok" : "\((error as? LAError)?.code.rawValue ?? 0)")
            }
        }
    }

    func store() -> OSStatus {
        var error: Unmanaged<CFError>?
        guard
            let access = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault,
                kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                .biometryCurrentSet,
                &error
            )
        else { return errSecParam }
        var item = Self.query
        item[kSecAttrLabel] = "com.me.myapp.password"
        item[kSecValueData] = Data("test_strong_password".utf8)
        item[kSecAttrAccessControl] = access
        return SecItemAdd(item as CFDictionary, nil)
    }

    func read() -> String {
        var query = Self.query
        query[kSecReturnData] = true
        query[kSecMatchLimit] = kSecMatchLimitOne
        query[kSecUseOperationPrompt] = "Please, pass authorisation to enter this area"
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        return status == errSecSuccess
            ? String(decoding: found as? Data ?? Data(), as: UTF8.self) : "\(status)"
    }

    func run() async -> [String] {
        [
            "owner \(await evaluate())", "store \(store())", "read \(read())",
            "delete \(SecItemDelete(Self.query as CFDictionary))",
        ]
    }
}

/// The listing for Swift of the guides to a token login: a token under the current set, read with a context that was evaluated for the
/// access control.
struct TokenListing {
    private static var query: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: "org.example.api", kSecAttrAccount: "token"]
    }

    private var access: SecAccessControl? {
        SecAccessControlCreateWithFlags(
            nil,
            kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
            .biometryCurrentSet,
            nil
        )
    }

    func save(_ token: String) -> OSStatus {
        SecItemDelete(Self.query as CFDictionary)
        var item = Self.query
        item[kSecValueData] = Data(token.utf8)
        item[kSecAttrAccessControl] = access
        return SecItemAdd(item as CFDictionary, nil)
    }

    /// Whether there is a token, without a prompt.
    func isThere() -> OSStatus {
        let context = LAContext()
        context.interactionNotAllowed = true
        var query = Self.query
        query[kSecReturnData] = true
        query[kSecUseAuthenticationContext] = context
        var found: CFTypeRef?
        return SecItemCopyMatching(query as CFDictionary, &found)
    }

    func read() async -> String {
        guard let access else { return "no access control" }
        let context = LAContext()
        let shown = await Outcome.of {
            _ = try await context.evaluateAccessControl(
                access,
                operation: .useItem,
                localizedReason: "Sign in"
            )
        }
        guard shown == "ok" else { return shown }
        var query = Self.query
        query[kSecReturnData] = true
        query[kSecUseAuthenticationContext] = context
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        return status == errSecSuccess
            ? String(decoding: found as? Data ?? Data(), as: UTF8.self) : "\(status)"
    }

    func run() async -> [String] {
        var said = [
            "there \(isThere())", "read \(await read())", "save \(save("new"))", "there \(isThere())",
        ]
        said.append("read \(await read())")
        return said
    }
}

/// The result of a call in one word.
enum Outcome {
    static func of(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "ok"
        } catch {
            return (error as? LAError).map { "\($0.code.rawValue)" } ?? "\(error)"
        }
    }
}
