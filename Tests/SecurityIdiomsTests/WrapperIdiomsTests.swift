import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

// The queries of common keychain wrappers, in the order in which they make them.

@Suite("Keychain wrappers", .timeLimit(.minutes(20)))
struct WrapperIdiomsTests {
    private func copy(_ query: [String: Any]) -> (status: OSStatus, result: AnyObject?) {
        var result: AnyObject?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return (status, result)
    }

    @Test("KeychainAccess looks up, then updates or adds, reads everything at once and deletes all")
    func lookFirst() async throws {
        let keychain = try await PrivateKeychain.ready()
        keychain.use {
            let options: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "org.example.app",
                kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
            ]
            func set(_ value: String) -> OSStatus {
                var query = options
                query[kSecAttrAccount as String] = "token"
                var attributes: [String: Any] = [
                    kSecValueData as String: Data(value.utf8), kSecAttrLabel as String: "a token",
                    kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock,
                    kSecAttrSynchronizable as String: kCFBooleanFalse as Any,
                ]
                query[kSecUseAuthenticationUI as String] = kSecUseAuthenticationUIFail
                switch SecItemCopyMatching(query as CFDictionary, nil) {
                case errSecSuccess, errSecInteractionNotAllowed:
                    query[kSecUseAuthenticationUI as String] = nil
                    return SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
                case errSecItemNotFound:
                    query[kSecUseAuthenticationUI as String] = nil
                    attributes = query.merging(attributes) { $1 }
                    return SecItemAdd(attributes as CFDictionary, nil)
                case let status: return status
                }
            }
            #expect(set("one") == errSecSuccess)
            #expect(set("two") == errSecSuccess)
            var query = options
            for key in [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef] {
                query[key as String] = kCFBooleanTrue
            }
            let all = copy(query).result as? [String: Any]
            #expect(all?[kSecValueData as String] as? Data == Data("two".utf8))
            #expect(all?[kSecAttrLabel as String] as? String == "a token")
            #expect(all?[kSecAttrAccessible as String] as? String == "ck")
            #expect(all?[kSecValuePersistentRef as String] is Data)
            #expect(all?[kSecAttrCreationDate as String] is Date)
            query = options
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            #expect(SecItemDelete(query as CFDictionary) == errSecSuccess)
            #expect(SecItemDelete(query as CFDictionary) == errSecItemNotFound)
        }
    }

    @Test("SwiftKeychainWrapper names accounts by bytes, and lists them as bytes")
    func octets() async throws {
        let keychain = try await PrivateKeychain.ready()
        keychain.use {
            let name = "key".data(using: .utf8)
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "app",
                kSecAttrGeneric as String: name as Any, kSecAttrAccount as String: name as Any,
                kSecAttrSynchronizable as String: kCFBooleanFalse as Any,
            ]
            let value = Data("value".utf8)
            let item = query.merging([
                kSecValueData as String: value,
                kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked,
            ]) { $1 }
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecDuplicateItem)
            let changes = [kSecValueData as String: Data("other".utf8)]
            #expect(SecItemUpdate(query as CFDictionary, changes as CFDictionary) == errSecSuccess)
            let list: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "app",
                kSecReturnAttributes as String: kCFBooleanTrue as Any,
                kSecMatchLimit as String: kSecMatchLimitAll,
            ]
            let items = copy(list).result as? [[AnyHashable: Any]]
            #expect(items?.first?[kSecAttrAccount as String] as? Data == name)
            #expect(items?.first?[kSecAttrAccessible as String] as? String == "ak")
            for itemClass in [
                kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey,
                kSecClassIdentity,
            ] {
                SecItemDelete([kSecClass as String: itemClass] as CFDictionary)
            }
            #expect(copy(list).status == errSecItemNotFound)
        }
    }

    @Test("keychain-swift deletes before it adds, and lists with data and references")
    func deleteFirst() async throws {
        let keychain = try await PrivateKeychain.ready()
        keychain.use {
            for value in ["one", "two"] {
                let place: [String: Any] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "app_key",
                ]
                SecItemDelete(place as CFDictionary)
                let item = place.merging([
                    kSecValueData as String: Data(value.utf8), kSecAttrAccessible as String: "ak",
                ]) { $1 }
                #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            }
            let items = copy([
                kSecClass as String: kSecClassGenericPassword, kSecReturnData as String: true,
                kSecReturnAttributes as String: true, kSecReturnPersistentRef as String: true,
                kSecMatchLimit as String: kSecMatchLimitAll,
            ])
            let found = items.result as? [[String: Any]]
            #expect(found?.count == 1)
            #expect(found?.first?[kSecValueData as String] as? Data == Data("two".utf8))
            let reference = found?.first?[kSecValuePersistentRef as String] as? Data
            let byReference: [String: Any] = [
                kSecValuePersistentRef as String: reference as Any, kSecReturnData as String: true,
            ]
            #expect(copy(byReference).result as? Data == Data("two".utf8))
            #expect(
                SecItemDelete([kSecClass as String: kSecClassGenericPassword] as CFDictionary)
                    == errSecSuccess
            )
        }
    }

    @Test(
        "Valet and SimpleKeychain name the access control in each query, and add before they update"
    )
    func accessControlEverywhere() async throws {
        let keychain = try await PrivateKeychain.ready()
        keychain.use {
            let context = LAContext()
            let base: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "VAL_app",
                kSecAttrAccount as String: "key", kSecUseDataProtectionKeychain as String: true,
                kSecUseAuthenticationContext as String: context,
                kSecAttrAccessControl as String: SecAccessControlCreateWithFlags(
                    nil,
                    kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                    .userPresence,
                    nil
                ) as Any,
            ]
            let item = base.merging([kSecValueData as String: Data("one".utf8)]) { $1 }
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecDuplicateItem)
            let shown = keychain.prompts
            #expect(SecItemCopyMatching(base as CFDictionary, nil) == errSecSuccess)
            #expect(keychain.prompts == shown)
            let changes = [kSecValueData as String: Data("two".utf8)]
            #expect(SecItemUpdate(base as CFDictionary, changes as CFDictionary) == errSecSuccess)
            let wanted = base.merging([kSecReturnData as String: true]) { $1 }
            #expect(copy(wanted).result as? Data == Data("two".utf8))
            #expect(keychain.prompts == shown + 1, "one context asks once")
            #expect(SecItemDelete(base as CFDictionary) == errSecSuccess)
        }
    }
}
