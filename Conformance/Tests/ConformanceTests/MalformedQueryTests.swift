import Foundation
import Security
import Testing

@Suite("Rule 6: malformed queries", .keychain)
struct MalformedQueryTests {
    private let shelf = Shelf()

    /// One of the four functions.
    enum Call: String, CaseIterable, Sendable {
        case add, copyMatching, update, delete

        func callAsFunction(_ query: CFDictionary) -> OSStatus {
            var result: CFTypeRef?
            switch self {
            case .add: return SecItemAdd(query, &result)
            case .copyMatching: return SecItemCopyMatching(query, &result)
            case .update: return SecItemUpdate(query, [kSecAttrComment: "changed"] as CFDictionary)
            case .delete: return SecItemDelete(query)
            }
        }
    }

    /// A malformed query, and each call's expected status.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: OSStatus
        let calls: [Call]
        let parts: @Sendable () -> [CFString: Any]

        init(
            _ description: String,
            _ status: OSStatus,
            in calls: [Call] = Call.allCases,
            _ parts: @autoclosure @escaping @Sendable () -> [CFString: Any]
        ) {
            (testDescription, self.status, self.calls, self.parts) = (description, status, calls, parts)
        }
    }

    private static let faults = [
        Fault("an unknown key", errSecParam, ["nobody knows this" as CFString: 1]),
        Fault("an unknown class", errSecNoSuchClass, [kSecClass: "none"]),
        Fault("an empty class", errSecNoSuchClass, [kSecClass: ""]),
        Fault("an empty key", errSecParam, ["" as CFString: 1]),
        Fault("containers in containers", errSecParam, [kSecAttrComment: [["a": [NSNull()]]]]),
        Fault("a class that is a number", errSecParam, [kSecClass: 7]),
        Fault("an unknown attribute", errSecNoSuchAttr, ["none" as CFString: 1]),
        Fault("an account that is a truth value", errSecParam, [kSecAttrAccount: true]),
        Fault("an account that is a date", errSecParam, [kSecAttrAccount: Date()]),
        Fault("a port that is bytes", errSecNoSuchAttr, [kSecAttrPort: Data([1])]),
        Fault("a number that is bytes", errSecParam, [kSecAttrCreator: Data([1])]),
        Fault("an account that is null", errSecParam, [kSecAttrAccount: NSNull()]),
        Fault("an account that is a list", errSecParam, [kSecAttrAccount: ["ada"]]),
        Fault("a label that is a dictionary", errSecParam, [kSecAttrLabel: ["a": 1]]),
        Fault("a date that is text", errSecParam, [kSecAttrCreationDate: "today"]),
        Fault("an attribute of internet passwords", errSecNoSuchAttr, [kSecAttrServer: "example.org"]),
        Fault("an attribute of keys", errSecNoSuchAttr, [kSecAttrApplicationTag: Data([1])]),
        Fault("data that are text", errSecParam, in: [.add], [kSecValueData: "secret"]),
        Fault("an unknown protection class", errSecParam, in: [.add], [kSecAttrAccessible: "none"]),
        Fault(
            "any synchronizable",
            errSecParam,
            in: [.add],
            [kSecAttrSynchronizable: kSecAttrSynchronizableAny]
        ),
        Fault("a limit", errSecParam, in: [.delete, .update], [kSecMatchLimit: kSecMatchLimitAll]),
        Fault("case-insensitive matching", errSecParam, in: [.delete], [kSecMatchCaseInsensitive: true]),
        Fault("a limit of nothing", errSecParam, in: [.copyMatching], [kSecMatchLimit: 0]),
        Fault("a limit below nothing", errSecParam, in: [.copyMatching], [kSecMatchLimit: -1]),
        Fault("a limit beyond all numbers", errSecParam, in: [.copyMatching], [kSecMatchLimit: UInt64.max]),
        Fault("a limit that is a word", errSecParam, in: [.copyMatching], [kSecMatchLimit: "some"]),
        Fault("a value to return", errSecParam, in: [.update], [kSecReturnData: true]),
        Fault("attributes to return", errSecParam, in: [.update], [kSecReturnAttributes: true]),
        Fault(
            "skipping what needs authentication",
            errSecParam,
            in: [.add, .update, .delete],
            [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]
        ),
        Fault("an unknown way of authentication", errSecParam, [kSecUseAuthenticationUI: "maybe"]),
        Fault("a context that is none", errSecParam, [kSecUseAuthenticationContext: "context"]),
        Fault(
            "an item reference to delete",
            errSecParam,
            in: [.delete],
            [kSecValueRef: "item"]
        ),
        Fault(
            "a persistent reference beside attributes",
            errSecParam,
            in: [.copyMatching],
            [kSecValuePersistentRef: Data(repeating: 7, count: 20)]
        ),
        Fault(
            "matching of certificates",
            errSecUnimplemented,
            in: [.copyMatching],
            [kSecMatchSubjectContains: "a"]
        ),
    ]

    @Test("a malformed query has its own status and changes nothing", arguments: faults)
    func isRefused(fault: Fault) {
        #expect(shelf.add("ada") == errSecSuccess)
        for call in fault.calls {
            let status = call(shelf.query(kSecClassGenericPassword, fault.parts()))
            #expect(status == fault.status, "\(call)")
        }
        #expect(shelf.count() == 1)
        #expect(shelf.attributes("ada")?[kSecAttrComment as String] == nil)
    }

    @Test("a query without a class, and an empty query, are malformed", arguments: Call.allCases)
    func withoutClass(call: Call) {
        #expect(call([kSecAttrService: shelf.name] as CFDictionary) == errSecParam)
        #expect(call([:] as CFDictionary) == errSecParam)
        #expect(call([7: 7] as NSDictionary) == errSecParam)
    }

    @Test("a query that asks for a result without a place for it is malformed")
    func nowhere() {
        #expect(shelf.add("ada") == errSecSuccess)
        let query = shelf.query(kSecClassGenericPassword, [kSecReturnData: true])
        #expect(SecItemCopyMatching(query, nil) == errSecParam)
        let item = shelf.query(kSecClassGenericPassword, [kSecAttrAccount: "b", kSecReturnAttributes: true])
        #expect(SecItemAdd(item, nil) == errSecParam)
        #expect(shelf.count() == 1)
    }

    @Test("an update of nothing, of the class, or with a return value is malformed")
    func changes() {
        #expect(shelf.add("ada") == errSecSuccess)
        let refused: [(OSStatus, [CFString: Any])] = [
            (errSecParam, [:]), (errSecParam, [kSecReturnData: true]), (errSecParam, [kSecAttrAccount: true]),
            (errSecParam, [kSecMatchLimit: kSecMatchLimitAll]), (errSecParam, ["unknown" as CFString: 1]),
            (errSecNoSuchAttr, [kSecAttrServer: "example.org"]),
            (errSecParam, [kSecAttrSynchronizable: kSecAttrSynchronizableAny]),
        ]
        for (status, changes) in refused { #expect(shelf.update([:], to: changes) == status, "\(changes)") }
        #expect(shelf.read("ada").text == "ada")
    }

    @Test("bytes that are not text, and a limit larger than any keychain, are accepted")
    func unusual() {
        let octets: [CFString: Any] = [kSecAttrAccount: Data([0xFF, 0xFE, 0xC0])]
        #expect(SecItemAdd(shelf.query(kSecClassGenericPassword, octets), nil) == errSecSuccess)
        let found = shelf.copy(octets.merging([kSecReturnAttributes: true]) { $1 }).result
        #expect((found as? [String: Any])?["acct"] as? Data == Data([0xFF, 0xFE, 0xC0]))
        let all = shelf.copy([kSecMatchLimit: Int.max, kSecReturnAttributes: true]).result
        #expect((all as? [Any])?.count == 1)
    }

    @Test("values of any type do not crash a call")
    func strange() {
        let values: [Any] = [
            NSNull(), [Any](), [String: Any](), Double.nan, -Double.infinity, UInt64.max, Data(), "\u{0}",
            [[[[1]]]], Date.distantFuture, UUID(), NSObject(),
        ]
        let keys = [
            kSecClass, kSecAttrAccount, kSecAttrPort, kSecAttrAccessControl, kSecAttrSynchronizable,
            kSecMatchLimit, kSecMatchItemList, kSecReturnData, kSecReturnRef, kSecUseAuthenticationContext,
            kSecUseOperationPrompt, kSecValuePersistentRef, kSecValueRef, kSecAttrAccessGroup,
        ]
        for key in keys {
            for value in values {
                let query = shelf.query(kSecClassGenericPassword, [key: value])
                _ = Call.copyMatching(query)
                _ = Call.delete(query)
            }
        }
        for value: Any in [Data(count: 1 << 20), String(repeating: "a", count: 1 << 20)] {
            for key in [kSecAttrAccount, kSecAttrPort, kSecUseOperationPrompt] {
                _ = Call.copyMatching(shelf.query(kSecClassGenericPassword, [key: value]))
            }
        }
        #expect(shelf.add("still here") == errSecSuccess)
    }
}
