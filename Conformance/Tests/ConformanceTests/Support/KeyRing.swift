import Foundation
import Security

/// Keys of a single test, marked by a unique tag; deleted at the end.
final class KeyRing: Sendable {
    let tag = Data("conformance-\(UUID().uuidString)".utf8)

    deinit { SecItemDelete(query()) }

    /// A query for these keys; entries of `more` override the defaults.
    func query(_ more: [CFString: Any] = [:]) -> CFDictionary {
        let base: [CFString: Any] = [
            kSecClass: kSecClassKey, kSecAttrApplicationTag: tag, kSecUseDataProtectionKeychain: true,
        ]
        return base.merging(more) { $1 } as CFDictionary
    }

    /// Creates a key, in this process or in the keychain.
    func make(
        _ type: CFString = kSecAttrKeyTypeECSECPrimeRandom,
        _ size: Int = 256,
        isPermanent: Bool = false,
        _ more: [CFString: Any] = [:]
    ) throws -> SecKey {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: type, kSecAttrKeySizeInBits: size, kSecUseDataProtectionKeychain: true,
            kSecPrivateKeyAttrs: [kSecAttrIsPermanent: isPermanent, kSecAttrApplicationTag: tag],
        ]
        return try key { SecKeyCreateRandomKey(parameters.merging(more) { $1 } as CFDictionary, $0) }
    }

    /// Calls `SecItemCopyMatching`.
    func copy(_ more: [CFString: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query(more), &result)
        return (status, result)
    }
}

/// The result of a function that reports an error through a pointer; throws that error.
func key<Result>(_ function: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Result?) throws -> Result {
    var error: Unmanaged<CFError>?
    if let result = function(&error) { return result }
    throw error.map { $0.takeRetainedValue() as Error } ?? CocoaError(.featureUnsupported)
}

/// The code of the error that a function reports; nil if there is a result.
func failure<Result>(_ function: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Result?) -> Int? {
    var error: Unmanaged<CFError>?
    guard function(&error) == nil else { return nil }
    return error.map { CFErrorGetCode($0.takeRetainedValue()) } ?? 0
}
