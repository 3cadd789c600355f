import Foundation
import Security

/// Passwords of a single test, under a unique service; deleted at the end.
final class Shelf: Sendable {
    /// The service of generic passwords and the server of internet passwords.
    let name = "conformance-" + UUID().uuidString

    deinit {
        for itemClass in [kSecClassGenericPassword, kSecClassInternetPassword] {
            SecItemDelete(query(itemClass, [kSecAttrSynchronizable: kSecAttrSynchronizableAny]))
        }
    }

    /// A query for these passwords; entries of `more` override the defaults.
    func query(_ itemClass: CFString = kSecClassGenericPassword, _ more: [CFString: Any] = [:])
        -> CFDictionary
    {
        let place = itemClass == kSecClassInternetPassword ? kSecAttrServer : kSecAttrService
        let base: [CFString: Any] = [
            kSecClass: itemClass, place: name, kSecUseDataProtectionKeychain: true,
        ]
        return base.merging(more) { $1 } as CFDictionary
    }

    /// Adds a password.
    @discardableResult
    func add(
        _ account: String,
        _ itemClass: CFString = kSecClassGenericPassword,
        _ more: [CFString: Any] = [:]
    ) -> OSStatus {
        let item: [CFString: Any] = [kSecAttrAccount: account, kSecValueData: Data(account.utf8)]
        return SecItemAdd(query(itemClass, item.merging(more) { $1 }), nil)
    }

    /// Adds a generic password behind an access control.
    func add(_ account: String, behind flags: SecAccessControlCreateFlags, _ more: [CFString: Any] = [:])
        -> OSStatus
    {
        add(
            account,
            kSecClassGenericPassword,
            [kSecAttrAccessControl: rules(flags) as Any].merging(more) { $1 }
        )
    }

    /// Calls `SecItemCopyMatching`.
    func copy(_ more: [CFString: Any], _ itemClass: CFString = kSecClassGenericPassword) -> (
        status: OSStatus, result: CFTypeRef?
    ) {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query(itemClass, more), &result)
        return (status, result)
    }

    /// The data of one generic password, as text.
    func read(_ account: String, _ more: [CFString: Any] = [:]) -> (status: OSStatus, text: String?) {
        let (status, result) = copy([kSecAttrAccount: account, kSecReturnData: true].merging(more) { $1 })
        return (status, (result as? Data).map { String(decoding: $0, as: UTF8.self) })
    }

    /// The attributes of one generic password.
    func attributes(_ account: String, _ more: [CFString: Any] = [:]) -> [String: Any]? {
        copy([kSecAttrAccount: account, kSecReturnAttributes: true].merging(more) { $1 }).result
            as? [String: Any]
    }

    /// The number of matching generic passwords.
    func count(_ more: [CFString: Any] = [:]) -> Int {
        let all: [CFString: Any] = [kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true]
        return (copy(all.merging(more) { $1 }).result as? [Any])?.count ?? 0
    }

    /// Updates generic passwords.
    func update(_ more: [CFString: Any], to changes: [CFString: Any]) -> OSStatus {
        SecItemUpdate(query(kSecClassGenericPassword, more), changes as CFDictionary)
    }

    /// Deletes generic passwords.
    func delete(_ more: [CFString: Any] = [:]) -> OSStatus {
        SecItemDelete(query(kSecClassGenericPassword, more))
    }
}

/// An access control for items readable while the device is unlocked.
func rules(_ flags: SecAccessControlCreateFlags) -> SecAccessControl? {
    SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil)
}
