import Foundation
import Security
import Testing

@Suite("Rule 7: the shape of a result", .keychain)
struct ResultShapeTests {
    private let shelf = Shelf()

    init() {
        shelf.add("ada")
        shelf.add("grace")
    }

    @Test("one requested result is returned as the value itself")
    func single() {
        #expect(
            shelf.copy([kSecAttrAccount: "ada", kSecReturnData: true]).result as? Data == Data("ada".utf8)
        )
        let attributes = shelf.copy([kSecAttrAccount: "ada", kSecReturnAttributes: true]).result
        #expect((attributes as? [String: Any])?[kSecAttrAccount as String] as? String == "ada")
        #expect(shelf.copy([kSecAttrAccount: "ada", kSecReturnPersistentRef: true]).result is Data)
    }

    @Test("several requested results are returned as a dictionary")
    func several() throws {
        let result = shelf.copy([
            kSecAttrAccount: "ada", kSecReturnData: true, kSecReturnAttributes: true,
            kSecReturnPersistentRef: true,
        ]).result
        let all = try #require(result as? [String: Any])
        #expect(all["v_Data"] as? Data == Data("ada".utf8))
        #expect(all["v_PersistentRef"] is Data)
        #expect(all["acct"] as? String == "ada")
        let two = shelf.copy([
            kSecAttrAccount: "ada", kSecReturnData: true, kSecReturnPersistentRef: true,
        ]).result
        let parts = try #require(two as? [String: Any])
        #expect(Set(parts.keys) == ["v_Data", "v_PersistentRef"])
    }

    @Test("a search for more than one item returns an array, also for a single match")
    func array() {
        let all: [CFString: Any] = [kSecMatchLimit: kSecMatchLimitAll]
        let data = shelf.copy(all.merging([kSecReturnAttributes: true]) { $1 }).result
        #expect((data as? [[String: Any]])?.count == 2)
        let one: [CFString: Any] = [kSecAttrAccount: "ada", kSecReturnAttributes: true]
        #expect((shelf.copy(all.merging(one) { $1 }).result as? [Any])?.count == 1)
        let references = shelf.copy(all.merging([kSecReturnPersistentRef: true]) { $1 }).result
        #expect((references as? [Data]).map { Set($0).count } == 2)
        #expect((shelf.copy([kSecMatchLimit: 7, kSecReturnAttributes: true]).result as? [Any])?.count == 2)
        #expect((shelf.copy([kSecMatchLimit: 2, kSecReturnAttributes: true]).result as? [Any])?.count == 2)
    }

    @Test("a listed item has the same results as the item alone, with text byte for byte")
    func listed() throws {
        let kind = kSecClassGenericPassword
        // Two strings that Swift considers equal.
        shelf.add("emmy", kind, [kSecAttrComment: "caf\u{E9}"])
        shelf.add(
            "kurt",
            kind,
            [kSecAttrComment: "cafe\u{301}", kSecAttrLabel: "logic", kSecAttrIsInvisible: true]
        )
        shelf.add("sofia", kind, [kSecAttrComment: "cafe\u{301}", kSecAttrDescription: "logic"])
        let all = shelf.copy([kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true]).result
        let list = try #require(all as? [[String: Any]])
        #expect(list.count == 5)
        for item in list {
            let account = try #require(item["acct"] as? String)
            let result = shelf.copy([kSecAttrAccount: account, kSecReturnAttributes: true]).result
            let alone = try #require(result as? [String: Any])
            #expect(Set(item.keys) == Set(alone.keys))
            for (key, value) in item {
                if let text = value as? String {
                    #expect((alone[key] as? String).map { Array($0.utf8) } == Array(text.utf8), "\(key)")
                } else if let number = value as? NSNumber {
                    #expect(alone[key] as? NSNumber == number, "\(key)")
                }
            }
        }
    }

    @Test("without a requested result, or with false for all, nothing is returned")
    func nothing() {
        let asked = shelf.copy([:])
        #expect(asked.status == errSecSuccess && asked.result == nil)
        let refused = shelf.copy([kSecReturnData: false, kSecReturnAttributes: false])
        #expect(refused.status == errSecSuccess && refused.result == nil)
        #expect(SecItemCopyMatching(shelf.query(), nil) == errSecSuccess)
    }

    @Test("without a match nothing is returned")
    func notFound() {
        for more: [CFString: Any] in [[:], [kSecMatchLimit: kSecMatchLimitAll]] {
            let query: [CFString: Any] = [kSecAttrAccount: "joan", kSecReturnData: true]
            let (status, result) = shelf.copy(query.merging(more) { $1 })
            #expect(status == errSecItemNotFound)
            #expect(result == nil)
        }
    }

    @Test("an addition returns the same shapes")
    func addition() throws {
        func add(_ account: String, _ returns: [CFString: Any]) -> CFTypeRef? {
            let item: [CFString: Any] = [kSecAttrAccount: account, kSecValueData: Data(account.utf8)]
            var result: CFTypeRef?
            let query = shelf.query(kSecClassGenericPassword, item.merging(returns) { $1 })
            #expect(SecItemAdd(query, &result) == errSecSuccess)
            return result
        }
        #expect(add("a", [kSecReturnData: true]) as? Data == Data("a".utf8))
        #expect(add("b", [kSecReturnPersistentRef: true]) is Data)
        let attributes = try #require(add("c", [kSecReturnAttributes: true]) as? [String: Any])
        #expect(attributes["acct"] as? String == "c" && attributes["v_Data"] == nil)
        let both = add("d", [kSecReturnAttributes: true, kSecReturnData: true]) as? [String: Any]
        #expect(both?["acct"] as? String == "d" && both?["v_Data"] as? Data == Data("d".utf8))
    }

    @Test("a persistent reference finds its item in every call, also after it was renamed")
    func persistentReference() throws {
        let reference = try #require(
            shelf.copy([kSecAttrAccount: "ada", kSecReturnPersistentRef: true]).result as? Data
        )
        let named = [kSecValuePersistentRef: reference] as CFDictionary
        let changes = [kSecAttrAccount: "lovelace"] as CFDictionary
        #expect(SecItemUpdate(named, changes) == errSecSuccess)
        var result: CFTypeRef?
        let wanted = [kSecValuePersistentRef: reference, kSecReturnAttributes: true] as CFDictionary
        #expect(SecItemCopyMatching(wanted, &result) == errSecSuccess)
        #expect((result as? [String: Any])?["acct"] as? String == "lovelace")
        #expect(SecItemDelete(named) == errSecSuccess)
        #expect(SecItemDelete(named) == errSecItemNotFound)
        #expect(shelf.count() == 1)
    }

    @Test("attributes are returned under Apple's short names, with the types they were stored with")
    func attributes() throws {
        let item: [CFString: Any] = [
            kSecAttrLabel: "Mail", kSecAttrDescription: "password", kSecAttrComment: "none",
            kSecAttrGeneric: Data([1, 2]), kSecAttrCreator: 7, kSecAttrType: 8, kSecAttrIsInvisible: true,
            kSecAttrIsNegative: false, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
        ]
        #expect(shelf.add("full", kSecClassGenericPassword, item) == errSecSuccess)
        let attributes = try #require(shelf.attributes("full"))
        let texts = ["labl": "Mail", "desc": "password", "icmt": "none", "acct": "full", "svce": shelf.name]
        for (key, value) in texts { #expect(attributes[key] as? String == value, "\(key)") }
        #expect(attributes["class"] as? String == "genp")
        #expect(attributes["pdmn"] as? String == "ck")
        #expect(attributes["gena"] as? Data == Data([1, 2]))
        #expect(attributes["crtr"] as? Int == 7 && attributes["type"] as? Int == 8)
        #expect(attributes["invi"] as? Bool == true && attributes["nega"] as? Bool == false)
        #expect(attributes["sync"] as? Bool == false)
        #expect(attributes["cdat"] is Date && attributes["mdat"] is Date)
        let server: [CFString: Any] = [
            kSecAttrProtocol: kSecAttrProtocolHTTPS, kSecAttrPort: 443, kSecAttrPath: "/",
            kSecAttrSecurityDomain: "lab", kSecAttrAuthenticationType: kSecAttrAuthenticationTypeHTTPBasic,
        ]
        #expect(shelf.add("ada", kSecClassInternetPassword, server) == errSecSuccess)
        let internet = try #require(
            shelf.copy([kSecReturnAttributes: true], kSecClassInternetPassword).result as? [String: Any]
        )
        let parts = ["ptcl": "htps", "path": "/", "sdmn": "lab", "atyp": "http", "srvr": shelf.name]
        for (key, value) in parts { #expect(internet[key] as? String == value, "\(key)") }
        #expect(internet["port"] as? Int == 443)
    }

    @Test("a number for a text attribute stays a number, and digits for a number become one")
    func conversions() throws {
        let account: [CFString: Any] = [kSecAttrAccount: 7]
        let added = shelf.query(kSecClassInternetPassword, account.merging([kSecAttrPort: "443"]) { $1 })
        #expect(SecItemAdd(added, nil) == errSecSuccess)
        #expect(SecItemAdd(added, nil) == errSecDuplicateItem)
        let sought = account.merging([kSecAttrPort: 443, kSecReturnAttributes: true]) { $1 }
        let found = shelf.copy(sought, kSecClassInternetPassword).result as? [String: Any]
        #expect(found?["acct"] as? Int == 7 && found?["port"] as? Int == 443)
    }

    @Test("data may be empty, large or missing")
    func data() {
        let large = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        for data in [Data(), large] {
            #expect(shelf.update([kSecAttrAccount: "ada"], to: [kSecValueData: data]) == errSecSuccess)
            #expect(shelf.copy([kSecAttrAccount: "ada", kSecReturnData: true]).result as? Data == data)
        }
        let bare = shelf.query(kSecClassGenericPassword, [kSecAttrAccount: "bare"])
        #expect(SecItemAdd(bare, nil) == errSecSuccess)
        #expect(shelf.copy([kSecAttrAccount: "bare"]).status == errSecSuccess)
    }

    @Test("an item without data has no data in a dictionary, alone or listed; empty data are data")
    func noData() throws {
        for itemClass in [kSecClassGenericPassword, kSecClassInternetPassword] {
            for (account, data) in [("bare", nil as Data?), ("empty", Data())] {
                let parts: [CFString: Any] = data.map { [kSecValueData: $0] } ?? [:]
                let item = shelf.query(itemClass, parts.merging([kSecAttrAccount: account]) { $1 })
                let wanted: [CFString: Any] = [
                    kSecAttrAccount: account, kSecReturnAttributes: true, kSecReturnData: true,
                ]
                var added: CFTypeRef?
                let returning = (item as? [CFString: Any] ?? [:]).merging(wanted) { $1 }
                #expect(SecItemAdd(returning as CFDictionary, &added) == errSecSuccess)
                let all = wanted.merging([kSecMatchLimit: kSecMatchLimitAll]) { $1 }
                let pair: [CFString: Any] = [
                    kSecAttrAccount: account, kSecReturnPersistentRef: true, kSecReturnData: true,
                ]
                let list = shelf.copy(all, itemClass).result as? [[String: Any]]
                let results = [
                    added as? [String: Any], shelf.copy(wanted, itemClass).result as? [String: Any],
                    list?.first,
                    shelf.copy(pair, itemClass).result as? [String: Any],
                ]
                for result in results {
                    #expect(try #require(result)["v_Data"] as? Data == data)
                    #expect(try #require(result).keys.contains("v_Data") == (data != nil))
                }
                let alone = shelf.copy([kSecAttrAccount: account, kSecReturnData: true], itemClass)
                #expect(alone.status == errSecSuccess && alone.result as? Data == Data())
            }
        }
    }

    @Test("a password has no reference: asked for nothing else, a call succeeds without a result")
    func noReference() throws {
        let named = shelf.copy([kSecAttrAccount: "ada", kSecReturnPersistentRef: true]).result
        let byReference: [CFString: Any] = [kSecValuePersistentRef: try #require(named)]
        for limit: [CFString: Any] in [[:], [kSecMatchLimit: kSecMatchLimitAll], [kSecMatchLimit: 7]] {
            let wanted = limit.merging([kSecReturnRef: true]) { $1 }
            for query in [
                shelf.query(kSecClassGenericPassword, wanted),
                byReference.merging(wanted) { $1 } as CFDictionary,
            ] {
                var result: CFTypeRef?
                #expect(SecItemCopyMatching(query, &result) == errSecSuccess)
                #expect(result == nil)
            }
            #expect(shelf.copy(wanted.merging([kSecAttrAccount: "joan"]) { $1 }).status == errSecItemNotFound)
            let both = shelf.copy(wanted.merging([kSecAttrAccount: "ada", kSecReturnData: true]) { $1 })
                .result
            #expect(limit.isEmpty == (both as? Data == Data("ada".utf8)))
        }
        var result: CFTypeRef?
        let item: [CFString: Any] = [kSecAttrAccount: "emmy", kSecReturnRef: true]
        #expect(SecItemAdd(shelf.query(kSecClassGenericPassword, item), &result) == errSecSuccess)
        #expect(result == nil && shelf.count() == 3)
    }

    @Test("text is found as it was stored, in any script")
    func text() {
        for account in ["Ада", "エイダ", "👩🏽‍💻", "a b\tc\n", "\"quoted\"", "café"] {
            #expect(shelf.add(account) == errSecSuccess)
            #expect(shelf.read(account).text == account)
            #expect(shelf.attributes(account)?["acct"] as? String == account)
        }
    }
}
