import Foundation
import Security

/// The app's items in the keychain.
enum Vault {
    /// Why something could not be kept or read.
    struct Failure: LocalizedError {
        let status: OSStatus

        var errorDescription: String? {
            SecCopyErrorMessageString(status, nil) as String? ?? "keychain error \(status)"
        }
    }

    /// Stores data, replacing older data; only the enrolled fingers open it if `isSealed`.
    static func keep(_ data: Data, as name: String, isSealed: Bool) throws {
        let deleted = SecItemDelete(query(name) as CFDictionary)
        guard deleted == errSecSuccess || deleted == errSecItemNotFound else {
            throw Failure(status: deleted)
        }
        var item = query(name)
        item[kSecValueData as String] = data
        if isSealed {
            item[kSecAttrAccessControl as String] = SecAccessControlCreateWithFlags(
                nil,
                kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
                .biometryCurrentSet,
                nil
            )
        } else {
            item[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        }
        let added = SecItemAdd(item as CFDictionary, nil)
        guard added == errSecSuccess else { throw Failure(status: added) }
    }

    /// Reads data; asks for the finger if the data is sealed.
    static func read(_ name: String, prompt: String) throws -> Data {
        var wanted = query(name)
        wanted[kSecReturnData as String] = true
        wanted[kSecUseOperationPrompt as String] = prompt
        var result: CFTypeRef?
        let status = SecItemCopyMatching(wanted as CFDictionary, &result)
        guard status == errSecSuccess, let data = result as? Data else { throw Failure(status: status) }
        return data
    }

    private static func query(_ name: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "org.example.device-sign-in", kSecAttrAccount as String: name,
        ]
    }
}
