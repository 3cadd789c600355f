import Foundation
import LocalAuthentication
import Security
import Testing

@Suite("Rule 3: creating an access control")
struct AccessControlCreationTests {
    private static let refused: [SecAccessControlCreateFlags] = [
        [.or, .and], [.biometryAny, .or, .and, .devicePasscode], [.biometryAny, .biometryCurrentSet],
        [.biometryAny, .or, .biometryCurrentSet], [.userPresence, .biometryAny],
        [.userPresence, .devicePasscode], [.userPresence, .biometryCurrentSet], [.userPresence, .or],
        [.userPresence, .and],
    ]
    private static let accepted: [SecAccessControlCreateFlags] = [
        [], .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .applicationPassword,
        [.userPresence, .applicationPassword], [.userPresence, .privateKeyUsage],
        [.userPresence, .applicationPassword, .privateKeyUsage], [.biometryAny, .or, .devicePasscode],
        [.biometryCurrentSet, .and, .devicePasscode], [.biometryAny, .devicePasscode], .privateKeyUsage,
        [.biometryCurrentSet, .privateKeyUsage], [.devicePasscode, .applicationPassword],
    ]

    private func make(_ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags) -> (
        made: SecAccessControl?, error: CFError?
    ) {
        var error: Unmanaged<CFError>?
        let made = SecAccessControlCreateWithFlags(nil, protection, flags, &error)
        return (made, error?.takeRetainedValue())
    }

    @Test("contradictory flags are refused", arguments: refused.map(\.rawValue))
    func contradiction(flags: UInt) {
        let (made, error) = make(kSecAttrAccessibleWhenUnlocked, SecAccessControlCreateFlags(rawValue: flags))
        #expect(made == nil)
        #expect(error.map { CFErrorGetCode($0) } == Int(errSecParam))
    }

    @Test("all other combinations of flags are accepted", arguments: accepted.map(\.rawValue))
    func combination(flags: UInt) {
        let (made, error) = make(kSecAttrAccessibleWhenUnlocked, SecAccessControlCreateFlags(rawValue: flags))
        #expect(made != nil)
        #expect(error == nil)
    }

    @Test("the protection classes are accepted, and nothing else")
    func protection() {
        for known in [
            kSecAttrAccessibleWhenUnlocked, kSecAttrAccessibleAfterFirstUnlock,
            kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
            kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ] {
            #expect(make(known, .userPresence).made != nil)
        }
        for unknown in ["", "akk", "WhenUnlocked"] {
            let (made, error) = make(unknown as CFString, .userPresence)
            #expect(made == nil)
            #expect(error.map { CFErrorGetCode($0) } == Int(errSecParam))
        }
    }

    @Test("the pointer for the error may be nil")
    func withoutError() {
        #expect(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [.or, .and], nil) == nil
        )
    }
}

@Suite("Rules 4 and 5: an access control in a query", .keychain)
struct AccessControlQueryTests {
    private let shelf = Shelf()

    @Test("an access control that requires authentication cannot be combined with a synchronizable item")
    func synchronizable() throws {
        let synchronizable: [CFString: Any] = [kSecAttrSynchronizable: true]
        #expect(shelf.add("ada", behind: .userPresence, synchronizable) == errSecParam)
        #expect(shelf.add("ada", behind: [], synchronizable) == errSecSuccess)
        let demanding: [CFString: Any] = [
            kSecAttrAccessControl: try #require(rules(.userPresence)), kSecAttrSynchronizable: true,
        ]
        #expect(shelf.add("grace") == errSecSuccess)
        #expect(shelf.update([kSecAttrAccount: "grace"], to: demanding) == errSecParam)
    }

    @Test("an access control can be combined with the same kSecAttrAccessible only")
    func accessible() {
        for protection in [kSecAttrAccessibleAfterFirstUnlock, kSecAttrAccessibleWhenUnlockedThisDeviceOnly] {
            #expect(shelf.add("ada", behind: .userPresence, [kSecAttrAccessible: protection]) == errSecParam)
        }
        let same: [CFString: Any] = [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked]
        #expect(shelf.add("ada", behind: .userPresence, same) == errSecSuccess)
    }

    @Test("a search accepts an access control and does not match on it")
    func search() throws {
        #expect(shelf.add("ada") == errSecSuccess)
        let other = try #require(rules(.userPresence))
        #expect(shelf.read("ada", [kSecAttrAccessControl: other]).text == "ada")
        #expect(shelf.delete([kSecAttrAccessControl: other]) == errSecSuccess)
    }

    @Test("a value that is not an access control is refused", arguments: ["text", ""])
    func wrongType(value: String) {
        #expect(shelf.add("ada", kSecClassGenericPassword, [kSecAttrAccessControl: value]) == errSecParam)
    }

    @Test("the attributes include the access control, but the data needs authentication")
    func attributes() throws {
        #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
        let attributes = try #require(
            shelf.attributes("ada", [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail])
        )
        let returned = try #require(attributes[kSecAttrAccessControl as String])
        #expect(CFGetTypeID(returned as CFTypeRef) == SecAccessControlGetTypeID())
        #expect(attributes[kSecValueData as String] == nil)
    }

    @Test("kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly needs a passcode")
    func passcodeSet() {
        let protection: [CFString: Any] = [
            kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        ]
        let expected = TestKeychain.hasPasscode ? errSecSuccess : errSecAuthFailed
        #expect(shelf.add("ada", kSecClassGenericPassword, protection) == expected)
    }
}
