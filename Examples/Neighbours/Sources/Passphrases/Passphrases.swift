import Foundation
import Security

/// Random passphrases stored in the keychain by name.
public struct Passphrases: Sendable {
    /// Why a passphrase is not available.
    public struct Failure: LocalizedError {
        /// The keychain's status code.
        public let status: OSStatus

        /// The keychain's description of the status.
        public var errorDescription: String? {
            SecCopyErrorMessageString(status, nil) as String? ?? "keychain error \(status)"
        }
    }

    private let service: String

    /// The passphrases of one service.
    public init(service: String) { self.service = service }

    /// The passphrase of this name; creates one if the keychain has none.
    public func passphrase(_ name: String) throws -> Data {
        if let found = try find(name) { return found }
        var bytes = [UInt8](repeating: 0, count: 32)
        let filled = SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes)
        guard filled == errSecSuccess else { throw Failure(status: filled) }
        let passphrase = Data(Data(bytes).base64EncodedString().utf8)
        var item = query(name)
        item[kSecValueData as String] = passphrase
        item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw Failure(status: status) }
        return passphrase
    }

    /// The passphrase of this name; nil if the keychain has none.
    public func find(_ name: String) throws -> Data? {
        var query = query(name)
        query[kSecReturnData as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let data = result as? Data else { throw Failure(status: status) }
        return data
    }

    private func query(_ name: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrAccount as String: name,
        ]
    }
}
