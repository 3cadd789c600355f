import Foundation
import Security
import Testing

@Suite("Rule 1: the primary key", .keychain)
struct PrimaryKeyTests {
    private let shelf = Shelf()

    /// An attribute with a value that differs from the first item's.
    struct Difference: Sendable, CustomTestStringConvertible {
        let name: String
        let key: @Sendable () -> CFString
        let value: any Sendable

        init(_ name: String, _ key: @autoclosure @escaping @Sendable () -> CFString, _ value: any Sendable) {
            (self.name, self.key, self.value) = (name, key, value)
        }

        var testDescription: String { name }
        var attributes: [CFString: Any] { [key(): value] }
    }

    private static let beside = [
        Difference("label", kSecAttrLabel, "other"), Difference("comment", kSecAttrComment, "other"),
        Difference("description", kSecAttrDescription, "other"), Difference("creator", kSecAttrCreator, 7),
        Difference("type", kSecAttrType, 7), Difference("invisible", kSecAttrIsInvisible, true),
        Difference("negative", kSecAttrIsNegative, true),
        Difference(
            "accessible",
            kSecAttrAccessible,
            kSecAttrAccessibleAfterFirstUnlock as String
        ),
    ]
    private static let genericKey = [
        Difference("account", kSecAttrAccount, "grace"),
        Difference("service", kSecAttrService, UUID().uuidString),
        Difference("synchronizable", kSecAttrSynchronizable, true),
    ]
    private static let internetKey = [
        Difference("account", kSecAttrAccount, "grace"),
        Difference("security domain", kSecAttrSecurityDomain, "lab"),
        Difference("server", kSecAttrServer, UUID().uuidString),
        Difference("protocol", kSecAttrProtocol, kSecAttrProtocolSSH as String),
        Difference(
            "authentication type",
            kSecAttrAuthenticationType,
            kSecAttrAuthenticationTypeNTLM as String
        ),
        Difference("port", kSecAttrPort, 22), Difference("path", kSecAttrPath, "/inbox"),
        Difference("synchronizable", kSecAttrSynchronizable, true),
    ]

    @Test(
        "a generic password's primary key includes account, service and synchronizable",
        arguments: genericKey
    )
    func genericPassword(difference: Difference) {
        #expect(shelf.add("ada") == errSecSuccess)
        let other = difference.attributes
        #expect(shelf.add("ada", kSecClassGenericPassword, other) == errSecSuccess)
        #expect(shelf.add("ada", kSecClassGenericPassword, other) == errSecDuplicateItem)
        SecItemDelete(shelf.query(kSecClassGenericPassword, other))
    }

    @Test(
        "a generic password's primary key does not include the other attributes",
        arguments: beside + [Difference("generic", kSecAttrGeneric, Data([7]))]
    )
    func notOfAGenericPassword(difference: Difference) {
        #expect(shelf.add("ada") == errSecSuccess)
        #expect(shelf.add("ada", kSecClassGenericPassword, difference.attributes) == errSecDuplicateItem)
    }

    @Test(
        "an internet password's primary key includes the attributes that name an account on a server",
        arguments: internetKey
    )
    func internetPassword(difference: Difference) {
        #expect(shelf.add("ada", kSecClassInternetPassword) == errSecSuccess)
        let other = difference.attributes
        #expect(shelf.add("ada", kSecClassInternetPassword, other) == errSecSuccess)
        #expect(shelf.add("ada", kSecClassInternetPassword, other) == errSecDuplicateItem)
        SecItemDelete(shelf.query(kSecClassInternetPassword, other))
    }

    @Test("an internet password's primary key does not include the other attributes", arguments: beside)
    func notOfAnInternetPassword(difference: Difference) {
        #expect(shelf.add("ada", kSecClassInternetPassword) == errSecSuccess)
        #expect(shelf.add("ada", kSecClassInternetPassword, difference.attributes) == errSecDuplicateItem)
    }

    @Test("items of two classes do not conflict")
    func classes() {
        #expect(shelf.add("ada", kSecClassGenericPassword) == errSecSuccess)
        #expect(shelf.add("ada", kSecClassInternetPassword) == errSecSuccess)
    }

    @Test("a missing attribute equals an empty one")
    func missing() {
        #expect(SecItemAdd(shelf.query(), nil) == errSecSuccess)
        #expect(shelf.add("") == errSecDuplicateItem)
        #expect(shelf.add("ada", kSecClassInternetPassword) == errSecSuccess)
        for empty: [CFString: Any] in [[kSecAttrPath: ""], [kSecAttrPort: 0], [kSecAttrSecurityDomain: ""]] {
            #expect(shelf.add("ada", kSecClassInternetPassword, empty) == errSecDuplicateItem)
        }
    }

    @Test("an update to another item's primary key is refused")
    func update() {
        #expect(shelf.add("ada") == errSecSuccess)
        #expect(shelf.add("grace") == errSecSuccess)
        #expect(shelf.update([kSecAttrAccount: "ada"], to: [kSecAttrAccount: "grace"]) == errSecDuplicateItem)
        #expect(shelf.read("ada").text == "ada")
        #expect(shelf.update([kSecAttrAccount: "ada"], to: [kSecAttrAccount: "joan"]) == errSecSuccess)
        #expect(shelf.read("joan").text == "ada")
        #expect(shelf.read("ada").status == errSecItemNotFound)
    }
}
