// Stores a note that only an enrolled finger opens, and reads it back: the sample of OWASP's testing guide for iOS.
import Foundation
import LocalAuthentication
import Security

var error: Unmanaged<CFError>?
guard
    let accessControl = SecAccessControlCreateWithFlags(
        kCFAllocatorDefault,
        kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
        .biometryCurrentSet,
        &error
    )
else {
    fatalError("no access control: \(String(describing: error?.takeRetainedValue()))")
}

var note: [String: Any] = [:]
note[kSecClass as String] = kSecClassGenericPassword
note[kSecAttrLabel as String] = "com.example.note" as CFString
note[kSecAttrAccount as String] = "note" as CFString
note[kSecValueData as String] = Data("Meet me at the bridge.".utf8) as CFData
note[kSecAttrAccessControl as String] = accessControl

let added = SecItemAdd(note as CFDictionary, nil)
guard added == noErr || added == errSecDuplicateItem else {
    fatalError("not kept: \(SecCopyErrorMessageString(added, nil) as String? ?? "")")
}

var query: [String: Any] = [:]
query[kSecClass as String] = kSecClassGenericPassword
query[kSecReturnData as String] = kCFBooleanTrue
query[kSecAttrAccount as String] = "note" as CFString
query[kSecAttrLabel as String] = "com.example.note" as CFString
query[kSecUseOperationPrompt as String] = "read your note" as CFString

var result: AnyObject?
let status = withUnsafeMutablePointer(to: &result) {
    SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
}
if status == noErr, let data = result as? Data {
    print(String(decoding: data, as: UTF8.self))
} else {
    print("not read: \(SecCopyErrorMessageString(status, nil) as String? ?? "")")
}
