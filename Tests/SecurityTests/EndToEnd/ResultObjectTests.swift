import Foundation
import LocalAuthentication
import Testing

@Suite(
    "The objects of a result",
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built")
)
struct ResultObjectTests {
    /// The bytes now at an address, whoever owns it, read by the kernel.
    private static func octets(at address: UInt, count: Int) throws -> [UInt8] {
        let memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/mem"))
        defer { try? memory.close() }
        try memory.seek(toOffset: UInt64(address))
        return [UInt8](try memory.read(upToCount: count) ?? Data())
    }

    private static func lent(_ dictionary: CFDictionary, _ key: CFString) -> UnsafeRawPointer? {
        CFDictionaryGetValue(dictionary, Unmanaged.passUnretained(key).toOpaque())
    }

    @Test("a result lends its own objects, and its secret is wiped with it", arguments: [false, true])
    func wiped(isInArray: Bool) async throws {
        let running = try await RunningKeychain()
        let secret = [UInt8](repeating: 0xA7, count: 400)
        let base: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "ada"]
        let item = base.merging([kSecValueData: Data(secret)]) { $1 }
        #expect(running.use { SecItemAdd(item as CFDictionary, nil) } == errSecSuccess)
        weak var data: NSData?
        var address: UInt = 0
        func look() throws {
            var result: CFTypeRef?
            var query = base.merging([kSecReturnData: true, kSecReturnAttributes: true]) { $1 }
            if isInArray { query[kSecMatchLimit] = kSecMatchLimitAll }
            #expect(running.use { SecItemCopyMatching(query as CFDictionary, &result) } == errSecSuccess)
            var dictionary = result as? NSDictionary
            if isInArray {
                let array = try #require(result as? NSArray)
                let first = try #require(CFArrayGetValueAtIndex(array, 0))
                dictionary = Unmanaged<NSDictionary>.fromOpaque(first).takeUnretainedValue()
            }
            let found = try #require(dictionary)
            let pointer = try #require(Self.lent(found, kSecValueData))
            #expect(Self.lent(found, kSecValueData) == pointer)
            let lent = Unmanaged<NSData>.fromOpaque(pointer).takeUnretainedValue()
            #expect(lent.length == secret.count)
            (data, address) = (lent, UInt(bitPattern: lent.bytes))
            try #expect(Self.octets(at: address, count: secret.count) == secret)
            let account = try #require(Self.lent(found, kSecAttrAccount))
            #expect(Unmanaged<NSString>.fromOpaque(account).takeUnretainedValue() == "ada")
        }
        try look()
        #expect(data == nil, "nobody holds the secret any more")
        // The allocator writes to the start of the block, and may have returned the page.
        let rest = (try? Self.octets(at: address + 32, count: secret.count - 32)) ?? []
        #expect(!rest.contains { $0 == 0xA7 })
    }

    @Test("missing primary-key attributes are empty or zero, in an added and in a found item")
    func blanks() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let wanted: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048]
            let key = try #require(SecKeyCreateRandomKey(wanted as CFDictionary, nil))
            var reference: CFTypeRef?
            let item: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecValueRef: key, kSecReturnPersistentRef: true,
                kSecReturnAttributes: true,
            ]
            #expect(SecItemAdd(item as CFDictionary, &reference) == errSecSuccess)
            let added = try #require(reference as? [String: Any])
            var found: CFTypeRef?
            let byReference: [CFString: Any] = [
                kSecValuePersistentRef: try #require(added[kSecValuePersistentRef as String]),
                kSecReturnAttributes: true, kSecReturnPersistentRef: true,
            ]
            #expect(SecItemCopyMatching(byReference as CFDictionary, &found) == errSecSuccess)
            let all: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
            ]
            var list: CFTypeRef?
            #expect(SecItemCopyMatching(all as CFDictionary, &list) == errSecSuccess)
            let first = try #require((list as? [[String: Any]])?.first)
            for attributes in [added, try #require(found as? [String: Any]), first] {
                #expect(attributes[kSecAttrApplicationTag as String] as? String == "")
                #expect(attributes["crtr"] as? Int == 0)
                for name in ["sdat", "edat"] {
                    #expect(attributes[name] as? Date == Date(timeIntervalSinceReferenceDate: 0))
                }
                #expect(attributes[kSecAttrKeySizeInBits as String] as? Int == 2048)
                #expect((attributes[kSecAttrApplicationLabel as String] as? Data)?.count == 20)
            }
        }
    }
}
