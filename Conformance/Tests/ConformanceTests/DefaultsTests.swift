import Foundation
import Security
import Testing

@Suite("Rule 2: defaults of a query", .keychain)
struct DefaultsTests {
    private let shelf = Shelf()

    @Test("by default an item is readable while the device is unlocked")
    func accessible() throws {
        #expect(shelf.add("ada") == errSecSuccess)
        let attributes = try #require(shelf.attributes("ada"))
        #expect(attributes[kSecAttrAccessible as String] as? String == "ak")
    }

    @Test(
        "an item keeps its protection class, also a deprecated one",
        arguments: ["ak", "ck", "dk", "akpu", "aku", "cku", "dku"]
    )
    func protection(name: String) throws {
        try #require(name != "akpu" || TestKeychain.hasPasscode)
        #expect(shelf.add("ada", kSecClassGenericPassword, [kSecAttrAccessible: name]) == errSecSuccess)
        #expect(shelf.attributes("ada")?[kSecAttrAccessible as String] as? String == name)
        #expect(shelf.read("ada", [kSecAttrAccessible: name]).text == "ada")
    }

    @Test("attributes of the primary key that were not given come back empty or zero")
    func blanks() throws {
        let item = shelf.query(kSecClassGenericPassword, [kSecValueData: Data("x".utf8)])
        #expect(SecItemAdd(item, nil) == errSecSuccess)
        let generic = try #require(shelf.copy([kSecReturnAttributes: true]).result as? [String: Any])
        #expect(generic[kSecAttrAccount as String] as? String == "")
        #expect(shelf.add("ada", kSecClassInternetPassword) == errSecSuccess)
        let found = shelf.copy([kSecReturnAttributes: true], kSecClassInternetPassword).result
        let internet = try #require(found as? [String: Any])
        #expect(internet[kSecAttrAccount as String] as? String == "ada")
        for name in [kSecAttrSecurityDomain, kSecAttrAuthenticationType, kSecAttrPath] {
            #expect(internet[name as String] as? String == "", "\(name)")
        }
        for name in [kSecAttrPort, kSecAttrProtocol] {
            #expect(internet[name as String] as? Int == 0, "\(name)")
        }
    }

    @Test("by default a search returns one item, not an array")
    func limit() {
        for account in ["ada", "grace"] { #expect(shelf.add(account) == errSecSuccess) }
        #expect(shelf.copy([kSecReturnData: true]).result is Data)
        #expect(shelf.copy([kSecReturnAttributes: true]).result is [String: Any])
    }

    @Test("by default an addition returns nothing")
    func nothing() {
        var result: CFTypeRef?
        #expect(SecItemAdd(shelf.query(), &result) == errSecSuccess)
        #expect(result == nil)
    }

    @Test("an update and a deletion affect all matching items")
    func all() {
        for account in ["ada", "grace", "joan"] { #expect(shelf.add(account) == errSecSuccess) }
        #expect(shelf.update([:], to: [kSecAttrComment: "same"]) == errSecSuccess)
        #expect(shelf.count([kSecAttrComment: "same"]) == 3)
        #expect(shelf.delete() == errSecSuccess)
        #expect(shelf.count() == 0)
        #expect(shelf.delete() == errSecItemNotFound)
        #expect(shelf.update([:], to: [kSecAttrComment: "same"]) == errSecItemNotFound)
    }

    @Test("a search finds synchronizable items only by true or any")
    func synchronizable() {
        #expect(shelf.add("here") == errSecSuccess)
        #expect(
            shelf.add("everywhere", kSecClassGenericPassword, [kSecAttrSynchronizable: true]) == errSecSuccess
        )
        #expect(shelf.read("everywhere").status == errSecItemNotFound)
        #expect(shelf.read("everywhere", [kSecAttrSynchronizable: true]).text == "everywhere")
        #expect(shelf.read("here", [kSecAttrSynchronizable: true]).status == errSecItemNotFound)
        #expect(shelf.read("here", [kSecAttrSynchronizable: false]).text == "here")
        #expect(shelf.count([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == 2)
        #expect(shelf.delete([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == errSecSuccess)
        #expect(shelf.count([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == 0)
    }

    @Test("an item has a creation and a modification date")
    func dates() throws {
        let before = Date()
        #expect(shelf.add("ada") == errSecSuccess)
        let made = try #require(shelf.attributes("ada"))
        let created = try #require(made[kSecAttrCreationDate as String] as? Date)
        #expect(created.timeIntervalSince(before) > -2 && created.timeIntervalSinceNow < 2)
        #expect(made[kSecAttrModificationDate as String] as? Date == created)
        #expect(shelf.update([:], to: [kSecAttrComment: "changed"]) == errSecSuccess)
        let changed = try #require(shelf.attributes("ada"))
        #expect(changed[kSecAttrCreationDate as String] as? Date == created)
        let modified = try #require(changed[kSecAttrModificationDate as String] as? Date)
        #expect(modified >= created)
    }
}

@Suite("Rule 2: access groups", .keychain)
struct AccessGroupTests {
    private let shelf = Shelf()
    private static let foreign = "org.example.not-granted"

    @Test("an item goes to the app's first group, which a query may name")
    func own() throws {
        #expect(shelf.add("ada") == errSecSuccess)
        let group = try #require(shelf.attributes("ada")?[kSecAttrAccessGroup as String] as? String)
        #expect(!group.isEmpty)
        #expect(shelf.read("ada", [kSecAttrAccessGroup: group]).text == "ada")
        #expect(shelf.add("grace", kSecClassGenericPassword, [kSecAttrAccessGroup: group]) == errSecSuccess)
        #expect(shelf.update([kSecAttrAccessGroup: group], to: [kSecAttrComment: "c"]) == errSecSuccess)
        #expect(shelf.delete([kSecAttrAccessGroup: group]) == errSecSuccess)
        #expect(shelf.count() == 0)
    }

    @Test("an access group that was not granted is refused in every call")
    func foreign() {
        #expect(shelf.add("ada") == errSecSuccess)
        let foreign: [CFString: Any] = [kSecAttrAccessGroup: Self.foreign]
        #expect(shelf.add("grace", kSecClassGenericPassword, foreign) == errSecMissingEntitlement)
        #expect(shelf.read("ada", foreign).status == errSecMissingEntitlement)
        #expect(shelf.update(foreign, to: [kSecAttrComment: "c"]) == errSecMissingEntitlement)
        #expect(shelf.update([:], to: foreign) == errSecMissingEntitlement)
        #expect(shelf.delete(foreign) == errSecMissingEntitlement)
        #expect(shelf.read("ada").text == "ada")
    }

    @Test(
        "a second group has its own items, which a search without a group finds too",
        .enabled(if: TestKeychain.group != nil, "no second group was granted")
    )
    func second() throws {
        let second: [CFString: Any] = [kSecAttrAccessGroup: try #require(TestKeychain.group)]
        #expect(shelf.add("ada") == errSecSuccess)
        #expect(
            shelf.add("ada", kSecClassGenericPassword, second) == errSecSuccess,
            "the group is in the key"
        )
        #expect(shelf.count() == 2)
        #expect(shelf.count(second) == 1)
        let own = shelf.copy([kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true]).result
        let groups = (own as? [[String: Any]])?.compactMap { $0[kSecAttrAccessGroup as String] as? String }
        #expect(Set(groups ?? []).count == 2)
        #expect(shelf.delete(second) == errSecSuccess)
        #expect(shelf.count() == 1)
    }

    @Test(
        "an update moves an item to a second group, unless an item with its primary key is there",
        .enabled(if: TestKeychain.group != nil, "no second group was granted")
    )
    func move() throws {
        let second: [CFString: Any] = [kSecAttrAccessGroup: try #require(TestKeychain.group)]
        #expect(shelf.add("ada") == errSecSuccess)
        let first = try #require(shelf.attributes("ada")?[kSecAttrAccessGroup as String] as? String)
        let reference = shelf.copy([kSecReturnPersistentRef: true]).result as? Data
        #expect(shelf.update([kSecAttrAccessGroup: first], to: second) == errSecSuccess)
        #expect(shelf.read("ada", second).text == "ada")
        #expect(shelf.read("ada", [kSecAttrAccessGroup: first]).status == errSecItemNotFound)
        #expect(shelf.copy([kSecReturnPersistentRef: true]).result as? Data == reference)
        #expect(shelf.add("ada") == errSecSuccess)
        #expect(shelf.update([kSecAttrAccessGroup: first], to: second) == errSecDuplicateItem)
    }
}
