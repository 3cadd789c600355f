import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@Suite("Results as dictionaries with any hashable keys", .timeLimit(.minutes(20)))
struct HashableIdiomsTests {
    @Test("results have their values under the constants, and equal a dictionary of the app's")
    func results() async throws {
        let keychain = try await PrivateKeychain.ready()
        try keychain.use {
            let item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "org.example.app",
                kSecAttrAccount: "ada",
                kSecValueData: Data("secret".utf8), kSecAttrCreator: 7, kSecAttrIsInvisible: true,
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            let query: [AnyHashable: Any] = [
                kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll,
                kSecReturnAttributes: true, kSecReturnData: true,
            ]
            var result: AnyObject?
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            let items = try #require(result as? [[AnyHashable: Any]])
            let first = try #require(items.first)
            // KeychainAccess's `allKeys()` and similar functions.
            #expect(items.compactMap { $0[kSecAttrAccount] as? String } == ["ada"])
            #expect(first["acct"] as? String == "ada")
            #expect(first[kSecValueData as String] as? Data == Data("secret".utf8))
            #expect(first[kSecAttrCreator] as? Int == 7)
            let same = try #require((result as? [NSDictionary])?.first)
            #expect(same.isEqual(to: first))
            for (key, value) in first {
                guard let left = value as? AnyHashable, let right = same[key] as? AnyHashable else {
                    continue
                }
                #expect(left == right && left.hashValue == right.hashValue, "\(key)")
            }
        }
    }

    private static var pairs: [(NSObject, AnyHashable)] {
        [
            (NSString(string: "acct"), "acct"), (NSString(string: "e\u{301}"), "\u{e9}"),
            (NSMutableString(string: "x"), "x"),
            (NSNumber(value: 7), 7), (NSNumber(value: Int64.min), Int64.min),
            (NSNumber(value: UInt64.max), UInt64.max),
            (NSNumber(value: 0.5), 0.5), (NSNumber(value: Float(0.5)), Float(0.5)),
            (NSNumber(value: true), true),
            (NSNumber(value: false), false), (NSNumber(value: UInt8(1)), UInt8(1)),
            (NSData(data: Data([1])), Data([1])),
            (NSDate(timeIntervalSinceReferenceDate: 3), Date(timeIntervalSinceReferenceDate: 3)),
        ]
    }

    @Test("an object equals its value and has the same hash, in both directions")
    func contract() {
        for (object, value) in Self.pairs {
            let object = object as AnyHashable
            #expect(object == value && value == object, "\(value)")
            #expect(object.hashValue == value.hashValue, "\(value)")
            #expect(Set([object, value]).count == 1)
        }
        #expect(AnyHashable(NSNumber(value: true)) != AnyHashable(1))
        #expect(AnyHashable(NSNumber(value: 1)) != AnyHashable(true))
        #expect(AnyHashable(NSString(string: "1")) != AnyHashable(1))
        // A constant's name is accepted in place of an object.
        let names: [AnyHashable: Int] = [kSecAttrAccount: 1, kSecAttrService: 2]
        #expect(names["acct"] == 1 && names[NSString(string: "svce")] == 2)
        #expect((names as NSDictionary)[kSecAttrService] as? Int == 2)
        #expect(AnyHashable(kSecAttrAccount) as? NSString == kSecAttrAccount)
    }
}
