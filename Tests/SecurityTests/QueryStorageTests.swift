import Foundation
import KeychainModel
import Security
import Testing
import TouchstoneTesting

@Suite("Dictionaries of items to store")
struct QueryStorageTests {
    private static func accessControl(
        _ flags: SecAccessControlCreateFlags,
        _ protection: CFString = kSecAttrAccessibleWhenUnlocked
    ) throws -> SecAccessControl {
        try #require(SecAccessControlCreateWithFlags(nil, protection, flags, nil))
    }

    private static func changes(_ dictionary: [AnyHashable: Any]) -> Status {
        do {
            _ = try ParsedChanges(dictionary as NSDictionary, of: .genericPassword)
            return .success
        } catch {
            return error.status
        }
    }

    @Test("constraints on a synchronizable item are refused")
    func constraintsAndSync() throws {
        let guarded = try Self.accessControl(.biometryCurrentSet)
        let plain = try Self.accessControl([])
        let add = { (accessControl: SecAccessControl, sync: Any) in
            QueryParsingTests.status(
                QueryParsingTests.password([
                    kSecAttrAccessControl: accessControl, kSecAttrSynchronizable: sync,
                ]),
                .add
            )
        }
        #expect(add(guarded, true) == .param)
        #expect(add(guarded, false) == .success)
        #expect(add(plain, true) == .success)
        #expect(Self.changes([kSecAttrAccessControl: guarded, kSecAttrSynchronizable: true]) == .param)
    }

    @Test("an access control with a different protection class is refused")
    func protections() throws {
        let guarded = try Self.accessControl(.userPresence)
        for (protection, expected) in [
            (kSecAttrAccessibleWhenUnlocked, Status.success), (kSecAttrAccessibleAfterFirstUnlock, .param),
        ] {
            let more: [AnyHashable: Any] = [kSecAttrAccessControl: guarded, kSecAttrAccessible: protection]
            #expect(QueryParsingTests.status(QueryParsingTests.password(more), .add) == expected)
            #expect(Self.changes(more) == expected)
        }
        #expect(
            QueryParsingTests.status(QueryParsingTests.password([kSecAttrAccessible: "xx"]), .add) == .param
        )
    }

    @Test("an access control in a search is accepted and ignored")
    func accessControlInSearch() throws {
        let query = try QueryParsingTests.parse(
            QueryParsingTests.password([kSecAttrAccessControl: try Self.accessControl(.userPresence)])
        )
        #expect(query.attributes.values.map(\.key) == [.account, .service])
    }

    @Test("the length of the data decides whether it is too large")
    func dataLength() {
        let add = { (count: Int) in
            QueryParsingTests.status(QueryParsingTests.password([kSecValueData: Data(count: count)]), .add)
        }
        #expect(add(0) == .success)
        #expect(add(ItemLimits.longestData) == .success)
        #expect(add(ItemLimits.longestData + 1) == .dataTooLarge)
        #expect(Self.changes([kSecValueData: Data(count: 1 << 20)]) == .dataTooLarge)
        let text = QueryParsingTests.password([kSecValueData: "secret"])
        #expect(QueryParsingTests.status(text, .add) == .param, "text is not data")
    }

    @Test("the length of an attribute decides whether it is too large")
    func attributeLength() {
        let megabyte = String(repeating: "ä", count: 1 << 19)
        for value in [megabyte as Any, Data(count: 1 << 20)] {
            #expect(
                QueryParsingTests.status(QueryParsingTests.password([kSecAttrLabel: value]), .add)
                    == .dataTooLarge
            )
            #expect(Self.changes([kSecAttrLabel: value]) == .dataTooLarge)
        }
        let long = String(repeating: "x", count: ItemLimits.longestAttribute)
        #expect(QueryParsingTests.status(QueryParsingTests.password([kSecAttrLabel: long]), .add) == .success)
        let several: [AnyHashable: Any] = [
            kSecAttrLabel: long, kSecAttrComment: long, kSecAttrDescription: long, kSecAttrGeneric: long,
            kSecAttrAccount: long,
        ]
        #expect(QueryParsingTests.status(QueryParsingTests.password(several), .add) == .dataTooLarge)
    }

    @Test("an update accepts only attributes and data")
    func changes() throws {
        #expect(Self.changes([:]) == .param)
        #expect(Self.changes([kSecAttrLabel: "new"]) == .success)
        #expect(Self.changes([kSecClass: kSecClassGenericPassword, kSecAttrLabel: "new"]) == .noSuchAttr)
        #expect(Self.changes([kSecReturnData: true]) == .param)
        #expect(Self.changes([kSecMatchLimit: kSecMatchLimitOne]) == .param)
        #expect(Self.changes([kSecUseOperationPrompt: "why"]) == .param)
        #expect(Self.changes([kSecValueRef: NSObject()]) == .param)
        #expect(Self.changes([kSecAttrServer: "example.com"]) == .noSuchAttr)
        #expect(Self.changes([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == .param)
        #expect(Self.changes([9: 9]) == .param)
    }

    @Test("an update of the protection class alone sets an access control without constraints")
    func newProtection() throws {
        let changes = try ParsedChanges(
            [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock] as NSDictionary,
            of: .genericPassword
        )
        #expect(changes.accessControl == AccessControl(accessibility: .afterFirstUnlock))
        #expect(changes.attributes.values.isEmpty)
    }

    @Test("a random dictionary ends in a status and never in a trap")
    func anything() {
        var random = SplitMix64(seed: 0x746F_7563_6873_746F)
        let keys = Self.keys
        for _ in 1...3_000 {
            var dictionary: [AnyHashable: Any] = [:]
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                guard let key = keys.randomElement(using: &random) else { continue }
                dictionary[key] = Self.value(depth: 0, using: &random)
            }
            for operation in [QueryOperation.add, .copyMatching, .update, .delete] {
                _ = QueryParsingTests.status(dictionary, operation, hasResult: Bool.random(using: &random))
            }
            _ = Self.changes(dictionary)
        }
    }

    private static var keys: [AnyHashable] {
        [
            kSecClass, kSecAttrAccount, kSecAttrService, kSecAttrServer, kSecAttrPort, kSecAttrLabel,
            kSecAttrAccessible,
            kSecAttrAccessControl, kSecAttrSynchronizable, kSecAttrCreationDate, kSecAttrIsInvisible,
            kSecReturnData,
            kSecReturnRef, kSecMatchLimit, kSecMatchItemList, kSecValueData, kSecValueRef,
            kSecValuePersistentRef,
            kSecUseAuthenticationUI, kSecUseAuthenticationContext, kSecUseOperationPrompt, "", "m_", "x", 7,
            Data([1]),
        ]
    }

    private static func value(depth: Int, using random: inout SplitMix64) -> Any {
        let simple: [Any] = [
            kSecClassGenericPassword, kSecClassInternetPassword, kSecMatchLimitAll, "text", "\u{0}\u{202E}",
            "",
            true, false, 0, 1, -1, Int64.min, UInt64.max, 1.5, Double.nan, Double.infinity, Data(),
            Data(count: 16), Data([0xFF, 0xFE]), Date.distantFuture, Date(timeIntervalSince1970: .nan),
            NSNull(),
            NSObject(), NSNumber(value: true), Optional<String>.none as Any, "ak", "u_AuthUIS",
        ]
        guard depth < 3, Int.random(in: 0...4, using: &random) == 0 else {
            return simple.randomElement(using: &random) ?? 0
        }
        let inner = value(depth: depth + 1, using: &random)
        return Bool.random(using: &random)
            ? [inner, inner] as Any : ["a": inner, 7: inner] as [AnyHashable: Any]
    }
}
