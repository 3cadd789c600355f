import Foundation
import LocalAuthentication
import Security

/// A secret stored like in an app, with Apple's API only.
struct NoteStore {
    private static let name = "note"

    static func add(_ value: String, _ flags: SecAccessControlCreateFlags? = .biometryCurrentSet) -> OSStatus
    {
        var item: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: name, kSecValueData: Data(value.utf8),
        ]
        if let flags {
            let access = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil)
            item[kSecAttrAccessControl] = access
        }
        return SecItemAdd(item as CFDictionary, nil)
    }

    static func read(_ reason: String = "Read the note") -> (status: OSStatus, value: String?) {
        let context = LAContext()
        context.localizedReason = reason
        return read(context)
    }

    static func read(_ context: LAContext) -> (status: OSStatus, value: String?) {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: name, kSecReturnData: true,
            kSecUseAuthenticationContext: context,
        ]
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return (status, (result as? Data).map { String(decoding: $0, as: UTF8.self) })
    }

    /// The code with which evaluating a policy fails; nil for success.
    static func evaluate(_ policy: LAPolicy, _ context: LAContext = LAContext()) async -> LAError.Code? {
        do {
            _ = try await context.evaluatePolicy(policy, localizedReason: "Open the notes")
            return nil
        } catch {
            return (error as? LAError)?.code
        }
    }
}
