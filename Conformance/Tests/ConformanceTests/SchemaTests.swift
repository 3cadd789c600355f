import Foundation
import Security
import Testing

/// One attribute of Apple's item schema (`SecItemSchema.c`): its class, and what stands for it if it was not given.
struct SchemaAttribute: Sendable, CustomTestStringConvertible {
    /// The classes that Apple's systems and this keychain store items of.
    enum Class: String, Sendable { case genericPassword, internetPassword, key }

    /// The default of the schema: flag E, flag Z of a number, flag Z of a date, or none.
    enum Default: Sendable { case text, data, zero, date, none }

    let itemClass: Class
    let name: String
    let key: @Sendable () -> CFString
    let standard: Default
    /// A value other than the default.
    let other: any Sendable

    init(
        _ itemClass: Class,
        _ name: String,
        _ key: @autoclosure @escaping @Sendable () -> CFString,
        _ standard: Default,
        other: any Sendable
    ) {
        (self.itemClass, self.name, self.key) = (itemClass, name, key)
        (self.standard, self.other) = (standard, other)
    }

    var testDescription: String { "\(name) of \(itemClass)" }

    /// The default as it is returned; nil if a missing attribute is not returned.
    var blank: NSObject? {
        switch standard {
        case .text: NSString(string: "")
        case .data: NSData()
        case .zero: NSNumber(value: 0)
        case .date: NSDate(timeIntervalSinceReferenceDate: 0)
        case .none: nil
        }
    }

    /// Other spellings of the default, which Apple's code converts to it (`copyNumber` in `SecDbItem.c`).
    var oddBlanks: [Any] {
        switch standard {
        case .zero: ["0", false, NSNumber(value: Int8(0))]
        case .data: [""]
        case .text, .date, .none: []
        }
    }

    static let all: [SchemaAttribute] =
        passwords(.genericPassword) + generic + passwords(.internetPassword) + internet + key

    private static func passwords(_ itemClass: Class) -> [SchemaAttribute] {
        [
            SchemaAttribute(itemClass, "account", kSecAttrAccount, .text, other: "ada"),
            SchemaAttribute(itemClass, "label", kSecAttrLabel, .none, other: "Mail"),
            SchemaAttribute(itemClass, "description", kSecAttrDescription, .none, other: "password"),
            SchemaAttribute(itemClass, "comment", kSecAttrComment, .none, other: "none"),
            SchemaAttribute(itemClass, "creator", kSecAttrCreator, .none, other: 7),
            SchemaAttribute(itemClass, "type", kSecAttrType, .none, other: 8),
            SchemaAttribute(itemClass, "invisible", kSecAttrIsInvisible, .none, other: true),
            SchemaAttribute(itemClass, "negative", kSecAttrIsNegative, .none, other: true),
        ]
    }
    private static let generic = [
        SchemaAttribute(.genericPassword, "service", kSecAttrService, .text, other: "mail"),
        SchemaAttribute(.genericPassword, "generic", kSecAttrGeneric, .none, other: Data([1, 2])),
    ]
    private static let internet = [
        SchemaAttribute(.internetPassword, "security domain", kSecAttrSecurityDomain, .text, other: "lab"),
        SchemaAttribute(.internetPassword, "server", kSecAttrServer, .text, other: "example.org"),
        SchemaAttribute(.internetPassword, "protocol", kSecAttrProtocol, .zero, other: "htps"),
        SchemaAttribute(
            .internetPassword,
            "authentication type",
            kSecAttrAuthenticationType,
            .text,
            other: "http"
        ),
        SchemaAttribute(.internetPassword, "port", kSecAttrPort, .zero, other: 443),
        SchemaAttribute(.internetPassword, "path", kSecAttrPath, .text, other: "/inbox"),
    ]
    private static let key = [
        SchemaAttribute(.key, "class", kSecAttrKeyClass, .zero, other: 2),
        SchemaAttribute(.key, "application label", kSecAttrApplicationLabel, .data, other: Data([7])),
        SchemaAttribute(.key, "application tag", kSecAttrApplicationTag, .text, other: Data([8])),
        SchemaAttribute(.key, "creator", kSecAttrCreator, .zero, other: 7),
        SchemaAttribute(.key, "type", kSecAttrKeyType, .zero, other: 42),
        SchemaAttribute(.key, "size", kSecAttrKeySizeInBits, .zero, other: 512),
        SchemaAttribute(.key, "effective size", kSecAttrEffectiveKeySize, .zero, other: 500),
        SchemaAttribute(.key, "start date", "sdat" as CFString, .date, other: Date(timeIntervalSince1970: 5)),
        SchemaAttribute(.key, "end date", "edat" as CFString, .date, other: Date(timeIntervalSince1970: 6)),
        SchemaAttribute(.key, "label", kSecAttrLabel, .none, other: "mine"),
        SchemaAttribute(.key, "can sign", kSecAttrCanSign, .none, other: true),
        SchemaAttribute(.key, "can verify", kSecAttrCanVerify, .none, other: true),
        SchemaAttribute(.key, "can encrypt", kSecAttrCanEncrypt, .none, other: true),
        SchemaAttribute(.key, "can decrypt", kSecAttrCanDecrypt, .none, other: true),
        SchemaAttribute(.key, "can derive", kSecAttrCanDerive, .none, other: true),
        SchemaAttribute(.key, "can wrap", kSecAttrCanWrap, .none, other: true),
        SchemaAttribute(.key, "can unwrap", kSecAttrCanUnwrap, .none, other: true),
    ]
}

/// One item that lacks an attribute; deleted at the end.
private final class ItemWithout {
    let attribute: SchemaAttribute
    /// A value of another attribute of the primary key, which sets this item apart.
    private let place: [CFString: Any]
    let data = Data("secret".utf8)

    init(_ attribute: SchemaAttribute) {
        self.attribute = attribute
        let mark = "schema-" + UUID().uuidString
        switch attribute.itemClass {
        case .genericPassword:
            place = [
                kSecClass: kSecClassGenericPassword,
                attribute.name == "service" ? kSecAttrAccount : kSecAttrService: mark,
            ]
        case .internetPassword:
            place = [
                kSecClass: kSecClassInternetPassword,
                attribute.name == "server" ? kSecAttrAccount : kSecAttrServer: mark,
            ]
        case .key:
            let key = attribute.name == "application tag" ? kSecAttrApplicationLabel : kSecAttrApplicationTag
            place = [kSecClass: kSecClassKey, key: Data(mark.utf8)]
        }
    }

    deinit { SecItemDelete(query()) }

    func query(_ more: [CFString: Any] = [:]) -> CFDictionary {
        place.merging([kSecUseDataProtectionKeychain: true]) { $1 }.merging(more) { $1 } as CFDictionary
    }

    /// A query with a value of the attribute.
    func query(_ value: Any, _ more: [CFString: Any] = [:]) -> CFDictionary {
        query([attribute.key(): value].merging(more) { $1 })
    }

    func add(_ more: [CFString: Any] = [:]) -> OSStatus {
        SecItemAdd(query([kSecValueData: data].merging(more) { $1 }), nil)
    }

    /// The attribute's value in each result that has attributes: alone, beside data, in a list, by persistent reference.
    func values() throws -> [NSObject?] {
        func copy(_ query: CFDictionary) throws -> [[String: Any]] {
            var result: CFTypeRef?
            try #require(SecItemCopyMatching(query, &result) == errSecSuccess)
            return (result as? [[String: Any]]) ?? (result as? [String: Any]).map { [$0] } ?? []
        }
        let attributes: [CFString: Any] = [kSecReturnAttributes: true]
        let data = attributes.merging([kSecReturnData: true]) { $1 }
        var results = try copy(query(attributes)) + copy(query(data))
        results += try copy(query(attributes.merging([kSecMatchLimit: kSecMatchLimitAll]) { $1 }))
        var reference: CFTypeRef?
        try #require(SecItemCopyMatching(query([kSecReturnPersistentRef: true]), &reference) == errSecSuccess)
        let named: [CFString: Any] = [kSecValuePersistentRef: try #require(reference)]
        results += try copy(named.merging(attributes) { $1 } as CFDictionary)
        try #require(results.count == 4)
        return results.map { $0[attribute.key() as String].map { $0 as AnyObject as? NSObject } ?? nil }
    }

    /// Whether a search for this value finds the item, whatever is returned.
    func isFound(by value: Any) -> [Bool] {
        let wanted: [[CFString: Any]] = [
            [:], [kSecReturnData: true], [kSecReturnAttributes: true], [kSecReturnPersistentRef: true],
            [kSecReturnData: true, kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll],
        ]
        return wanted.map { wanted in
            var result: CFTypeRef?
            return SecItemCopyMatching(query(value, wanted), &result) == errSecSuccess
        }
    }

    func update(_ query: CFDictionary, to value: Any) -> OSStatus {
        SecItemUpdate(query, [attribute.key(): value] as CFDictionary)
    }
}

@Suite("Rule 1: the defaults of Apple's item schema", .keychain)
struct SchemaTests {
    private static let all = Array(repeating: true, count: 5)
    private static let none = Array(repeating: false, count: 5)

    @Test("a missing attribute is returned as its default, in every result", arguments: SchemaAttribute.all)
    func returned(attribute: SchemaAttribute) throws {
        let item = ItemWithout(attribute)
        #expect(item.add() == errSecSuccess)
        #expect(try item.values() == Array(repeating: attribute.blank, count: 4))
    }

    @Test(
        "a missing attribute and its default are the same, however that is written",
        arguments: SchemaAttribute.all
    )
    func same(attribute: SchemaAttribute) throws {
        guard let blank = attribute.blank else { return }
        let item = ItemWithout(attribute)
        #expect(item.add() == errSecSuccess)
        for blank in [blank] + attribute.oddBlanks {
            #expect(item.add([attribute.key(): blank]) == errSecDuplicateItem, "\(blank)")
            #expect(item.isFound(by: blank) == Self.all, "\(blank)")
        }
        #expect(item.isFound(by: attribute.other) == Self.none)
        #expect(item.add([attribute.key(): attribute.other]) == errSecSuccess, "another item")
        #expect(SecItemDelete(item.query(attribute.other)) == errSecSuccess)
        #expect(item.isFound(by: blank) == Self.all)
        for blank in [blank] + attribute.oddBlanks {
            #expect(SecItemDelete(item.query(blank)) == errSecSuccess, "\(blank)")
            #expect(item.add([attribute.key(): blank]) == errSecSuccess, "the default in another spelling")
            #expect(try item.values() == Array(repeating: attribute.blank, count: 4))
            #expect(item.add() == errSecDuplicateItem)
        }
    }

    @Test("an attribute without a default is absent until it is given", arguments: SchemaAttribute.all)
    func absent(attribute: SchemaAttribute) throws {
        guard attribute.blank == nil else { return }
        let item = ItemWithout(attribute)
        #expect(item.add() == errSecSuccess)
        #expect(item.isFound(by: attribute.other) == Self.none)
        #expect(SecItemDelete(item.query(attribute.other)) == errSecItemNotFound)
        #expect(item.add([attribute.key(): attribute.other]) == errSecDuplicateItem, "not part of the key")
        #expect(item.update(item.query(), to: attribute.other) == errSecSuccess)
        #expect(item.isFound(by: attribute.other) == Self.all)
        #expect(try item.values().allSatisfy { $0 != nil })
        #expect(SecItemDelete(item.query(attribute.other)) == errSecSuccess)
    }

    @Test("an update changes a default, and changes a value back to it", arguments: SchemaAttribute.all)
    func update(attribute: SchemaAttribute) throws {
        guard let blank = attribute.blank else { return }
        for odd in [blank] + attribute.oddBlanks {
            let item = ItemWithout(attribute)
            #expect(item.add() == errSecSuccess)
            #expect(item.update(item.query(odd), to: attribute.other) == errSecSuccess, "\(odd)")
            #expect(item.isFound(by: odd) == Self.none, "\(odd)")
            #expect(item.isFound(by: attribute.other) == Self.all)
            #expect(item.update(item.query(odd), to: attribute.other) == errSecItemNotFound, "\(odd)")
            #expect(item.update(item.query(attribute.other), to: odd) == errSecSuccess, "\(odd)")
            #expect(item.isFound(by: odd) == Self.all, "\(odd)")
            #expect(try item.values() == Array(repeating: attribute.blank, count: 4))
        }
    }

    @Test("a public key added without its class has class 0 and a usable reference", arguments: [256, 2048])
    func publicKey(size: Int) throws {
        let ring = KeyRing()
        let type = size == 256 ? kSecAttrKeyTypeECSECPrimeRandom : kSecAttrKeyTypeRSA
        let made = try ring.make(type, size)
        let half = try #require(SecKeyCopyPublicKey(made))
        let octets = try key { SecKeyCopyExternalRepresentation(half, $0) } as Data
        let item: [CFString: Any] = [kSecAttrKeyType: type, kSecValueData: octets]
        #expect(SecItemAdd(ring.query(item), nil) == errSecSuccess)
        let explicit = item.merging([kSecAttrKeyClass: kSecAttrKeyClassPublic]) { $1 }
        #expect(SecItemAdd(ring.query(explicit), nil) == errSecDuplicateItem)
        for classes: [CFString: Any] in [
            [:], [kSecAttrKeyClass: kSecAttrKeyClassPublic], [kSecAttrKeyClass: 0],
        ] {
            let alone = ring.copy(classes.merging([kSecReturnRef: true]) { $1 })
            #expect(alone.status == errSecSuccess && CFEqual(alone.result, half))
            #expect(ring.copy(classes.merging([kSecReturnData: true]) { $1 }).result as? Data == octets)
            let all: [CFString: Any] = [
                kSecReturnRef: true, kSecReturnAttributes: true, kSecReturnData: true,
                kSecReturnPersistentRef: true, kSecMatchLimit: kSecMatchLimitAll,
            ]
            let list = ring.copy(classes.merging(all) { $1 }).result as? [[String: Any]]
            let found = try #require(list?.first)
            #expect(found["kcls"] as? Int == 0 && CFEqual(found["v_Ref"], half))
        }
        #expect(ring.copy([kSecAttrKeyClass: kSecAttrKeyClassPrivate]).status == errSecItemNotFound)
        #expect(SecItemDelete(ring.query([kSecAttrKeyClass: kSecAttrKeyClassPublic])) == errSecSuccess)
    }

    @Test("a key is made from its type and class alone, whatever else is given")
    func fromData() throws {
        let ring = KeyRing()
        for (type, size) in [(kSecAttrKeyTypeECSECPrimeRandom, 256), (kSecAttrKeyTypeRSA, 2048)] {
            let made = try ring.make(type, size)
            let octets = try key { SecKeyCopyExternalRepresentation(made, $0) }
            let base: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeyClass: kSecAttrKeyClassPrivate]
            let others: [[CFString: Any]] = [
                [:], [kSecAttrKeySizeInBits: 384], [kSecAttrKeySizeInBits: "2048"],
                [kSecAttrKeySizeInBits: "many"],
                [kSecAttrKeySizeInBits: NSNull()], [kSecAttrKeySizeInBits: -1], [kSecAttrEffectiveKeySize: 1],
                [kSecAttrIsPermanent: "yes"], [kSecPrivateKeyAttrs: 7], [kSecAttrService: "mail"],
                ["nobody knows this" as CFString: 1], [kSecReturnPersistentRef: true], [kSecAttrKeyClass: 1],
            ]
            for other in others {
                let attributes = base.merging(other) { $1 } as CFDictionary
                let again = try key { SecKeyCreateWithData(octets, attributes, $0) }
                #expect(CFEqual(again, made), "\(other)")
                #expect((SecKeyCopyAttributes(again) as? [String: Any])?["bsiz"] as? Int == size)
            }
            for wrong: [CFString: Any] in [
                [kSecAttrKeyType: NSNull()], [kSecAttrKeyClass: NSNull()], [kSecAttrKeyClass: "2"],
                [kSecAttrKeyType: "1"],
            ] {
                let attributes = base.merging(wrong) { $1 } as CFDictionary
                #expect(
                    failure { SecKeyCreateWithData(octets, attributes, $0) } == Int(errSecParam),
                    "\(wrong)"
                )
            }
        }
    }
}
