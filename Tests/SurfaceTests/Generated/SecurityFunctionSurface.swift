// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import Security
import Testing

@Suite("The surface of Security's functions")
struct SecurityFunctionSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        let _: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus = SecItemAdd
        let _: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus = SecItemCopyMatching
        let _: (CFDictionary, CFDictionary) -> OSStatus = SecItemUpdate
        let _: (CFDictionary) -> OSStatus = SecItemDelete
        let _: () -> CFTypeID = SecAccessControlGetTypeID
        let _: (CFAllocator?, CFTypeRef, SecAccessControlCreateFlags, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> SecAccessControl? = SecAccessControlCreateWithFlags
        let _: (OSStatus, UnsafeMutableRawPointer?) -> CFString? = SecCopyErrorMessageString
        let _: (SecRandomRef?, Int, UnsafeMutableRawPointer) -> Int32 = SecRandomCopyBytes
        let _: () -> CFString? = SecCreateSharedWebCredentialPassword
        let _: (Any) -> SecAccessControl = { $0 as! SecAccessControl }
        let _: SecRandomRef.Type = SecRandomRef.self
        isOptionSet(SecAccessControlCreateFlags.self, of: CFOptionFlags.self)
        #expect(SecAccessControlCreateFlags.userPresence.rawValue == 1 << 0)
        #expect(SecAccessControlCreateFlags.biometryAny.rawValue == 1 << 1)
        #expect(SecAccessControlCreateFlags.touchIDAny.rawValue == 1 << 1)
        #expect(SecAccessControlCreateFlags.biometryCurrentSet.rawValue == 1 << 3)
        #expect(SecAccessControlCreateFlags.touchIDCurrentSet.rawValue == 1 << 3)
        #expect(SecAccessControlCreateFlags.devicePasscode.rawValue == 1 << 4)
        #expect(SecAccessControlCreateFlags.watch.rawValue == 1 << 5)
        #expect(SecAccessControlCreateFlags.companion.rawValue == 1 << 5)
        #expect(SecAccessControlCreateFlags.or.rawValue == 1 << 14)
        #expect(SecAccessControlCreateFlags.and.rawValue == 1 << 15)
        #expect(SecAccessControlCreateFlags.privateKeyUsage.rawValue == 1 << 30)
        #expect(SecAccessControlCreateFlags.applicationPassword.rawValue == 1 << 31)
    }
}
