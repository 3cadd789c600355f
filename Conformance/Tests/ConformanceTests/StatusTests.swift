import Foundation
import LocalAuthentication
import Security
import Testing

/// Every status that Apple's API returns; other constants exist only for programs that compare with them.
///
/// The `switch` over it has no default: a status that no test brings about does not compile.
enum Answer: CaseIterable, Sendable {
    case success, unimplemented, diskFull, io, param, allocate, userCanceled, internalComponent, notAvailable
    case readOnly, authFailed, duplicateItem, itemNotFound, dataTooLarge, noSuchAttr, noSuchClass
    case interactionNotAllowed, keySizeNotAllowed, decode, missingEntitlement, verifyFailed

    var status: OSStatus {
        switch self {
        case .success: errSecSuccess
        case .unimplemented: errSecUnimplemented
        case .diskFull: errSecDiskFull
        case .io: errSecIO
        case .param: errSecParam
        case .allocate: errSecAllocate
        case .userCanceled: errSecUserCanceled
        case .internalComponent: errSecInternalComponent
        case .notAvailable: errSecNotAvailable
        case .readOnly: errSecReadOnly
        case .authFailed: errSecAuthFailed
        case .duplicateItem: errSecDuplicateItem
        case .itemNotFound: errSecItemNotFound
        case .dataTooLarge: errSecDataTooLarge
        case .noSuchAttr: errSecNoSuchAttr
        case .noSuchClass: errSecNoSuchClass
        case .interactionNotAllowed: errSecInteractionNotAllowed
        case .keySizeNotAllowed: errSecKeySizeNotAllowed
        case .decode: errSecDecode
        case .missingEntitlement: errSecMissingEntitlement
        case .verifyFailed: errSecVerifyFailed
        }
    }
}

extension Shelf {
    /// Adds a password with so many bytes.
    fileprivate func add(_ account: String, octetCount: Int) -> OSStatus {
        add(account, kSecClassGenericPassword, [kSecValueData: Data(count: octetCount)])
    }
}

/// In ``AuthenticationTests`` because only one prompt is shown at a time.
extension AuthenticationTests {
    @Test("each status is reached", arguments: Answer.allCases)
    func status(answer: Answer) async throws {
        try await TestKeychain.unlessUnbreakable {
            let reached = try await reach(answer)
            #expect(reached == answer.status)
        }
    }

    private func reach(_ answer: Answer) async throws -> OSStatus {
        let shelf = shelf
        switch answer {
        case .success: return shelf.add("ada")
        case .duplicateItem:
            shelf.add("ada")
            return shelf.add("ada")
        case .itemNotFound: return shelf.read("ada").status
        case .param: return shelf.copy([kSecMatchLimit: 0]).status
        case .noSuchAttr: return shelf.copy([kSecAttrServer: "example.org"]).status
        case .noSuchClass: return shelf.copy([kSecClass: "none"]).status
        case .unimplemented: return shelf.copy([kSecMatchSubjectContains: "a"]).status
        case .missingEntitlement: return shelf.copy([kSecAttrAccessGroup: "org.example.not-granted"]).status
        case .keySizeNotAllowed:
            return OSStatus(failure { SecKeyCreateRandomKey(Self.oddKey, $0) } ?? 0)
        case .verifyFailed:
            let publicKey = try #require(SecKeyCopyPublicKey(try KeyRing().make()))
            var error: Unmanaged<CFError>?
            let (none, algorithm) = (Data() as CFData, SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256)
            #expect(!SecKeyVerifySignature(publicKey, algorithm, none, none, &error))
            return OSStatus(error.map { CFErrorGetCode($0.takeRetainedValue()) } ?? 0)

        case .userCanceled:
            #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
            try await TestKeychain.tellPerson(cancel: 1)
            return shelf.read("ada").status
        case .interactionNotAllowed:
            #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
            return shelf.read("ada", [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]).status
        case .authFailed:
            let context = LAContext()
            context.invalidate()
            return shelf.read("ada", [kSecUseAuthenticationContext: context]).status

        case .notAvailable: return try await TestKeychain.with(.noService) { shelf.add("ada") }
        case .internalComponent:
            return try await TestKeychain.with(
                .serviceEnds,
                after: { #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess) },
                { shelf.read("ada").status }
            )
        case .allocate:
            return try await TestKeychain.with(.scarceMemory) {
                let items = (1...10).map { shelf.add("\($0)", octetCount: 600_000) }
                #expect(items == Array(repeating: errSecSuccess, count: 10))
                return shelf.copy([kSecMatchLimit: kSecMatchLimitAll, kSecReturnData: true]).status
            }
        case .dataTooLarge:
            return try await TestKeychain.with(.limitedData) { shelf.add("ada", octetCount: 1 << 21) }
        case .diskFull:
            return try await TestKeychain.with(.fullDisk) { shelf.add("ada", octetCount: 100_000) }
        case .io: return try await TestKeychain.with(.failingDisk) { shelf.add("ada") }
        case .readOnly: return try await TestKeychain.with(.readOnlyFile) { shelf.add("ada") }
        case .decode:
            return try await TestKeychain.with(
                .damagedItem,
                after: { #expect(shelf.add("ada", octetCount: 600_000) == errSecSuccess) },
                { shelf.read("ada").status }
            )
        }
    }

    private static var oddKey: CFDictionary {
        [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 300] as [CFString: Any]
            as CFDictionary
    }
}

/// Every reason with which an authentication can fail here; `biometryNotPaired` and `invalidDimensions` cannot.
enum Refusal: CaseIterable, Sendable {
    case authenticationFailed, userCancel, userFallback, systemCancel, passcodeNotSet, biometryNotAvailable
    case biometryNotEnrolled, biometryLockout, appCancel, invalidContext, companionNotAvailable
    case biometryDisconnected, notInteractive

    var code: LAError.Code {
        switch self {
        case .authenticationFailed: .authenticationFailed
        case .userCancel: .userCancel
        case .userFallback: .userFallback
        case .systemCancel: .systemCancel
        case .passcodeNotSet: .passcodeNotSet
        case .biometryNotAvailable: .biometryNotAvailable
        case .biometryNotEnrolled: .biometryNotEnrolled
        case .biometryLockout: .biometryLockout
        case .appCancel: .appCancel
        case .invalidContext: .invalidContext
        case .companionNotAvailable: .companionNotAvailable
        case .biometryDisconnected: .biometryDisconnected
        case .notInteractive: .notInteractive
        }
    }
}

extension AuthenticationTests {
    @Test("each reason of LAError is reached", .timeLimit(.minutes(20)), arguments: Refusal.allCases)
    func reason(refusal: Refusal) async throws {
        try await TestKeychain.unlessUnbreakable {
            let reached = try await reach(refusal)
            #expect(reached == refusal.code)
        }
    }

    /// The error of an evaluated policy; nil if it succeeded.
    @Sendable private static func evaluate(
        _ policy: LAPolicy = .deviceOwnerAuthentication,
        _ prepare: (LAContext) -> Void = { _ in }
    ) async -> LAError.Code? {
        let context = LAContext()
        prepare(context)
        do {
            try await context.evaluatePolicy(policy, localizedReason: "test")
            return nil
        } catch {
            return (error as? LAError)?.code
        }
    }

    private func reach(_ refusal: Refusal) async throws -> LAError.Code? {
        let biometrics: @Sendable () async -> LAError.Code? = {
            await Self.evaluate(.deviceOwnerAuthenticationWithBiometrics)
        }
        switch refusal {
        case .invalidContext: return await Self.evaluate { $0.invalidate() }
        case .notInteractive: return await Self.evaluate { $0.interactionNotAllowed = true }
        case .companionNotAvailable: return await Self.evaluate(.deviceOwnerAuthenticationWithCompanion)
        case .userCancel:
            try await TestKeychain.tellPerson(cancel: 1)
            return await Self.evaluate()
        case .appCancel:
            let context = LAContext()
            return await withCheckedContinuation { continuation in
                context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test") { _, error in
                    continuation.resume(returning: (error as? LAError)?.code)
                }
                context.invalidate()
            }
        case .systemCancel: return try await TestKeychain.with(.serviceEnds) { await Self.evaluate() }
        case .passcodeNotSet: return try await TestKeychain.with(.noPasscode) { await Self.evaluate() }
        case .biometryNotAvailable: return try await TestKeychain.with(.noSensor, biometrics)
        case .biometryNotEnrolled: return try await TestKeychain.with(.noFinger, biometrics)
        case .userFallback: return try await TestKeychain.with(.fallback, biometrics)
        case .authenticationFailed: return try await TestKeychain.with(.unreadableFinger, biometrics)
        case .biometryLockout: return try await TestKeychain.with(.stranger, biometrics)
        case .biometryDisconnected: return try await TestKeychain.with(.unpluggedSensor, biometrics)
        }
    }
}
