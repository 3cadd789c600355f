import CryptoKit
import Foundation
import LocalAuthentication
import Security

/// A key that never leaves this machine and signs only with its owner's consent.
struct DeviceKey {
    private let key: SecureEnclave.P256.Signing.PrivateKey

    /// The public key, with which others verify signatures.
    var publicKey: P256.Signing.PublicKey { key.publicKey }

    /// Finds the key of this name, or creates it.
    init(name: String, reason: String) throws {
        let context = LAContext()
        context.localizedReason = reason
        if let representation = try Self.read(name) {
            key = try SecureEnclave.P256.Signing.PrivateKey(
                dataRepresentation: representation,
                authenticationContext: context
            )
            return
        }
        var error: Unmanaged<CFError>?
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                nil,
                kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
                [.privateKeyUsage, .userPresence],
                &error
            )
        else { throw error!.takeRetainedValue() as Error }
        key = try SecureEnclave.P256.Signing.PrivateKey(
            accessControl: accessControl,
            authenticationContext: context
        )
        try Self.keep(key.dataRepresentation, name)
    }

    /// Signs a message, after asking the owner.
    func sign(_ message: Data) throws -> P256.Signing.ECDSASignature { try key.signature(for: message) }

    // The hardware seals the representation: the keychain is only a convenient place to store it.

    private static func query(_ name: String) -> [CFString: Any] {
        [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "com.example.device-key",
            kSecAttrAccount: name,
        ]
    }

    private static func read(_ name: String) throws -> Data? {
        var result: CFTypeRef?
        let wanted = query(name).merging([kSecReturnData: true]) { $1 }
        let status = SecItemCopyMatching(wanted as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw failure(status) }
        return result as? Data
    }

    private static func keep(_ representation: Data, _ name: String) throws {
        let item = query(name).merging([kSecValueData: representation]) { $1 }
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw failure(status) }
    }

    private static func failure(_ status: OSStatus) -> NSError {
        let text = SecCopyErrorMessageString(status, nil) as String? ?? "status \(status)"
        return NSError(
            domain: NSOSStatusErrorDomain,
            code: Int(status),
            userInfo: [NSLocalizedDescriptionKey: text]
        )
    }
}
