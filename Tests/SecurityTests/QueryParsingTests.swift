import Foundation
import KeychainModel
import Security
import Testing

@Suite("Query dictionaries")
struct QueryParsingTests {
    static var password: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "mail",
            kSecAttrAccount as String: "ada",
        ]
    }

    static func parse(
        _ query: [AnyHashable: Any],
        _ operation: QueryOperation = .copyMatching,
        hasResult: Bool = true
    ) throws(KeychainError) -> ParsedQuery {
        try ParsedQuery(query as NSDictionary, for: operation, hasResult: hasResult)
    }

    /// The status that parsing ends in.
    static func status(
        _ query: [AnyHashable: Any],
        _ operation: QueryOperation = .copyMatching,
        hasResult: Bool = true
    ) -> Status {
        do {
            _ = try parse(query, operation, hasResult: hasResult)
            return .success
        } catch {
            return error.status
        }
    }

    static func password(_ more: [AnyHashable: Any]) -> [AnyHashable: Any] {
        (password as [AnyHashable: Any]).merging(more) { $1 }
    }

    @Test("a query returns one item that equals the given attributes, unless it says otherwise")
    func defaults() throws {
        let query = try Self.parse(Self.password)
        #expect(query.itemClass == .genericPassword)
        #expect(query.attributes.values == [.service: .string("mail"), .account: .string("ada")])
        #expect(query.limit == .one)
        #expect(query.returns == [])
        #expect(query.references == nil)
        #expect(query.authenticationUI == .allow)
    }

    @Test(
        "a query without a class is errSecParam",
        arguments: [QueryOperation.add, .copyMatching, .update, .delete]
    )
    func missingClass(operation: QueryOperation) {
        #expect(Self.status([:], operation) == .param)
        #expect(Self.status([kSecAttrAccount: "ada"], operation) == .param)
        #expect(Self.status([kSecClass: 7], operation) == .param)
        #expect(Self.status([kSecClass: NSNull()], operation) == .param)
    }

    @Test("an unknown class and an unimplemented class have different errors")
    func classes() {
        #expect(Self.status([kSecClass: "nope"]) == .noSuchClass)
        #expect(Self.status([kSecClass: ""]) == .noSuchClass)
        for itemClass in [kSecClassCertificate, kSecClassIdentity] {
            #expect(Self.status([kSecClass: itemClass], .add) == .unimplemented)
            #expect(Self.status([kSecClass: itemClass]) == .success, "there is none to find")
        }
        #expect(Self.status([kSecClass: kSecClassInternetPassword]) == .success)
    }

    @Test("an attribute of another class is errSecNoSuchAttr, and an unknown key is errSecParam")
    func foreignAttributes() {
        #expect(Self.status(Self.password([kSecAttrServer: "example.com"])) == .noSuchAttr)
        #expect(Self.status(Self.password(["none": 1])) == .noSuchAttr, "all attributes have four letters")
        #expect(Self.status(Self.password([kSecAttrApplicationTag: Data([1])])) == .noSuchAttr)
        #expect(Self.status([kSecClass: kSecClassInternetPassword, kSecAttrService: "mail"]) == .noSuchAttr)
        #expect(Self.status(Self.password(["nonsense": 1])) == .param)
        #expect(Self.status(Self.password(["": 1])) == .param)
        #expect(Self.status(Self.password([7: 1])) == .param)
        #expect(Self.status(Self.password([Data([7]): 1])) == .param)
    }

    @Test("two faults yield the same status whatever their order")
    func twoFaults() {
        for _ in 1...50 {
            #expect(Self.status(Self.password([kSecAttrServer: "x", kSecAttrLabel: [7]])) == .param)
        }
    }

    @Test(
        "a value of the wrong type is errSecParam",
        arguments: [
            kSecAttrAccount, kSecAttrService, kSecAttrLabel, kSecAttrComment, kSecAttrDescription,
            kSecAttrGeneric,
            kSecAttrCreator, kSecAttrType, kSecAttrIsInvisible, kSecAttrCreationDate, kSecAttrAccessible,
            kSecAttrAccessControl, kSecAttrAccessGroup, kSecAttrSynchronizable, kSecReturnData,
            kSecReturnAttributes, kSecReturnPersistentRef, kSecReturnRef, kSecMatchLimit, kSecValueData,
            kSecValuePersistentRef, kSecUseOperationPrompt, kSecUseAuthenticationUI,
            kSecUseNoAuthenticationUI,
            kSecUseAuthenticationContext, kSecUseDataProtectionKeychain,
        ].map { $0 as String }
    )
    func wrongTypes(key: String) {
        let values: [Any] = [NSNull(), [1], ["a": "b"], 1.5, Double.nan, UInt64.max, NSObject()]
        for value in values {
            #expect(Self.status(Self.password([key: value])) == .param, "\(key): \(type(of: value))")
        }
    }

    @Test("text attributes are accepted as text or bytes, and keep their type")
    func textOrOctets() throws {
        let query = try Self.parse([
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: Data([0xFF, 0x00]),
        ])
        #expect(query.attributes.values == [.account: .data([0xFF, 0x00])])
    }

    @Test("numbers convert to text, and text and booleans to numbers, as in Apple's keychain")
    func conversions() throws {
        let base: [AnyHashable: Any] = [kSecClass: kSecClassInternetPassword]
        let conversions: [(CFString, Any, AttributeKey, AttributeValue)] = [
            (kSecAttrAccount, 7, .account, .integer(7)), (kSecAttrPort, "443", .port, .integer(443)),
            (kSecAttrPort, "-1", .port, .integer(-1)), (kSecAttrPort, true, .port, .integer(1)),
            (kSecAttrType, "note", .type, .string("note")), (kSecAttrPort, "0443", .port, .string("0443")),
            (kSecAttrPort, "4294967296", .port, .string("4294967296")),
        ]
        for (key, value, name, expected) in conversions {
            let query = try Self.parse(base.merging([key: value]) { $1 })
            #expect(query.attributes.values[name] == expected, "\(key) \(value)")
        }
        for (key, value) in [
            (kSecAttrAccount, true as Any), (kSecAttrAccount, 1.5), (kSecAttrPort, Data([1])),
        ] {
            #expect(Self.status(base.merging([key: value]) { $1 }) == .param)
        }
    }

    @Test("booleans may be given as numbers")
    func truth() throws {
        for truth in [true as Any, NSNumber(value: true), NSNumber(value: 1), kCFBooleanTrue as Any, 1] {
            #expect(try Self.parse(Self.password([kSecReturnData: truth])).returns == .data)
        }
        for falsehood in [false as Any, NSNumber(value: 0), kCFBooleanFalse as Any] {
            #expect(try Self.parse(Self.password([kSecReturnData: falsehood])).returns == [])
        }
        #expect(Self.status(Self.password([kSecReturnData: 2])) == .param)
        #expect(Self.status(Self.password([kSecReturnData: "true"])) == .param)
    }

    @Test("the match limit is a constant or a number of at least 1")
    func limits() throws {
        #expect(try Self.parse(Self.password([kSecMatchLimit: kSecMatchLimitAll])).limit == .all)
        #expect(try Self.parse(Self.password([kSecMatchLimit: kSecMatchLimitOne])).limit == .one)
        #expect(try Self.parse(Self.password([kSecMatchLimit: 1])).limit == .one)
        #expect(try Self.parse(Self.password([kSecMatchLimit: 7])).limit == .count(7))
        for limit in [0 as Any, -1, "many", Int64.min, 2.5] {
            #expect(Self.status(Self.password([kSecMatchLimit: limit])) == .param)
        }
    }

    @Test("a query that returns something requires a result pointer")
    func missingPointer() {
        #expect(Self.status(Self.password([kSecReturnData: true]), hasResult: false) == .param)
        #expect(Self.status(Self.password([kSecReturnData: true]), .add, hasResult: false) == .param)
        #expect(Self.status(Self.password([kSecReturnData: false]), hasResult: false) == .success)
    }

    @Test("match keys and limits are refused in deletions and updates")
    func matchInDelete() {
        for operation in [QueryOperation.delete, .update] {
            for limit in [kSecMatchLimitAll as Any, kSecMatchLimitOne, 1] {
                let query = Self.password([kSecMatchLimit: limit, kSecUseDataProtectionKeychain: true])
                #expect(Self.status(query, operation) == .param)
            }
            #expect(Self.status(Self.password([kSecMatchCaseInsensitive: true]), operation) == .param)
            #expect(Self.status(Self.password([kSecMatchIssuers: [Data()]]), operation) == .param)
        }
    }

    @Test("kSecMatchLimitAll is accepted in a macOS deletion outside the data protection keychain")
    func deletionOfAll() {
        #expect(Self.status(Self.password([kSecMatchLimit: kSecMatchLimitAll]), .delete) == .success)
        #expect(Self.status(Self.password([kSecMatchLimit: kSecMatchLimitAll]), .update) == .param)
        #expect(Self.status(Self.password([kSecMatchLimit: kSecMatchLimitOne]), .delete) == .param)
    }

    @Test("a deletion by item reference and an update that returns something are refused")
    func referenceInDelete() {
        #expect(Self.status(Self.password([kSecValueRef: NSObject()]), .delete) == .param)
        #expect(Self.status([kSecValueRef: NSObject()], .delete) == .param)
        for key in [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef] {
            #expect(Self.status(Self.password([key: true]), .update) == .param)
            #expect(Self.status(Self.password([key: true]), .delete) == .success, "ignored there")
        }
    }

    @Test("kSecUseAuthenticationUISkip is accepted only by SecItemCopyMatching")
    func skip() throws {
        let skip: [AnyHashable: Any] = [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]
        #expect(try Self.parse(Self.password(skip)).authenticationUI == .skip)
        for operation in [QueryOperation.add, .update, .delete] {
            #expect(Self.status(Self.password(skip), operation) == .param)
        }
        let fail: [AnyHashable: Any] = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
        #expect(try Self.parse(Self.password(fail)).authenticationUI == .fail)
        #expect(try Self.parse(Self.password([kSecUseNoAuthenticationUI: true])).authenticationUI == .fail)
        #expect(Self.status(Self.password([kSecUseAuthenticationUI: "u_Other"])) == .param)
    }

    @Test("a query by persistent reference needs no class and allows no attributes")
    func persistentReference() throws {
        let reference = Data(repeating: 7, count: 16)
        let query = try Self.parse([kSecValuePersistentRef: reference, kSecReturnData: true])
        #expect(query.references == [PersistentReference(octets: [UInt8](reference))].compactMap { $0 })
        #expect(query.itemClass == nil)
        #expect(
            Self.status([kSecClass: kSecClassGenericPassword, kSecValuePersistentRef: reference]) == .success
        )
        #expect(Self.status(Self.password([kSecValuePersistentRef: reference])) == .param)
        #expect(Self.status([kSecValuePersistentRef: reference, kSecAttrAccount: "ada"]) == .param)
        #expect(Self.status([kSecValuePersistentRef: Data(count: 15)]) == .param)
        #expect(Self.status([kSecValuePersistentRef: reference], .delete) == .success)
        #expect(Self.status(Self.password([kSecValuePersistentRef: reference]), .add) == .param)
    }

    @Test("kSecMatchItemList selects items by their references")
    func itemList() throws {
        let references = [Data(repeating: 1, count: 16), Data(repeating: 2, count: 16)]
        #expect(try Self.parse(Self.password([kSecMatchItemList: references])).references?.count == 2)
        #expect(Self.status(Self.password([kSecMatchItemList: [Data(count: 3)]])) == .param)
        #expect(Self.status(Self.password([kSecMatchItemList: ["a"]])) == .param)
        let many = [Data](repeating: references[0], count: ItemLimits.mostReferences + 1)
        #expect(Self.status(Self.password([kSecMatchItemList: many])) == .param)
    }

    @Test(
        "match keys for certificates are unimplemented for passwords",
        arguments: [
            kSecMatchPolicy, kSecMatchIssuers, kSecMatchEmailAddressIfPresent, kSecMatchSubjectContains,
            kSecMatchTrustedOnly, kSecMatchValidOnDate, kSecMatchSearchList, kSecUseItemList,
        ].map { $0 as String }
    )
    func foreignMatchKeys(key: String) {
        #expect(Self.status(Self.password([key: true])) == .unimplemented)
    }

    @Test("a host match applies only to internet passwords and needs a host name")
    func hostMatch() {
        let key = kSecMatchHostOrSubdomainOfHost
        #expect(Self.status(Self.password([key: "example.org"])) == .unimplemented)
        #expect(Self.status([kSecClass: kSecClassInternetPassword, key: "example.org"]) == .success)
        #expect(Self.status([kSecClass: kSecClassInternetPassword, key: 1]) == .param)
        #expect(Self.status([kSecClass: kSecClassInternetPassword, key: ""]) == .param)
    }

    @Test("kSecReturnRef is ignored for passwords, which have no references")
    func references() throws {
        #expect(try Self.parse(Self.password([kSecReturnRef: true])).returns == [])
        let query = try Self.parse(Self.password([kSecReturnRef: true, kSecReturnData: true]))
        #expect(query.returns == .data)
    }

    @Test("synchronizable items match only if the query says so")
    func synchronizable() throws {
        let any = try Self.parse(Self.password([kSecAttrSynchronizable: kSecAttrSynchronizableAny]))
        #expect(any.attributes.values[.synchronizable] == .string("syna"))
        let yes = try Self.parse(Self.password([kSecAttrSynchronizable: true]))
        #expect(yes.attributes.values[.synchronizable] == .boolean(true))
        #expect(
            Self.status(Self.password([kSecAttrSynchronizable: kSecAttrSynchronizableAny]), .add) == .param
        )
        #expect(Self.status(Self.password([kSecAttrSynchronizable: "yes"])) == .param)
    }

    @Test("dates, numbers and the prompt's text are parsed")
    func otherValues() throws {
        let query = try Self.parse([
            kSecClass: kSecClassInternetPassword, kSecAttrPort: 443, kSecAttrProtocol: kSecAttrProtocolHTTPS,
            kSecAttrCreationDate: Date(timeIntervalSince1970: 1.5), kSecUseOperationPrompt: "open the safe",
            kSecUseDataProtectionKeychain: true,
        ])
        #expect(query.attributes.values[.port] == .integer(443))
        #expect(query.attributes.values[.protocol] == .string("htps"))
        #expect(query.attributes.values[.creationDate] == .date(1_500_000))
        #expect(query.wishes.reason == "open the safe")
        #expect(Self.status([kSecClass: kSecClassInternetPassword, kSecAttrPort: 1e300]) == .param)
        let never = Date(timeIntervalSince1970: .infinity)
        #expect(Self.status(Self.password([kSecAttrCreationDate: never])) == .param)
    }
}
