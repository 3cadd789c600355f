import Foundation
import KeychainModel
import Security
import Testing
import TouchstoneTesting

@Suite("Malformed key dictionaries")
struct MalformedKeyTests {
    private static var names: [AnyHashable] {
        [
            kSecClass, kSecAttrKeyType, kSecAttrKeySizeInBits, kSecAttrKeyClass, kSecAttrTokenID,
            kSecAttrIsPermanent, kSecAttrApplicationTag, kSecAttrApplicationLabel, kSecAttrLabel,
            kSecPrivateKeyAttrs, kSecPublicKeyAttrs, kSecAttrAccessControl, kSecAttrAccessible, kSecValueRef,
            kSecValueData, kSecReturnRef, kSecMatchItemList, kSecAttrSynchronizable, kSecUseAuthenticationUI,
            "requestedSize", "sharedInfo", "zzzz", 7, Double.nan, Data([1]),
        ]
    }

    private static func value(_ generator: inout SplitMix64, key: SecKey, depth: Int = 0) -> Any {
        switch Int.random(in: 0..<18, using: &generator) {
        case 0: return kSecAttrKeyTypeEC
        case 1: return kSecAttrKeyTypeRSA
        case 2: return Int.random(in: -2...600, using: &generator)
        case 3: return true
        case 4: return Data(repeating: 1, count: Int.random(in: 0..<200, using: &generator))
        case 5: return NSNull()
        case 6: return key
        case 7: return [key, Data()] as [Any]
        case 8 where depth < 3: return dictionary(&generator, key: key, depth: depth + 1)
        case 9: return String(repeating: "a", count: Int.random(in: 0..<40, using: &generator))
        case 10: return Double.nan
        case 11: return Int.max
        case 12: return kSecAttrKeyClassPrivate
        case 13: return kSecClassKey
        case 14: return Date.distantPast
        case 15: return "\u{0}"
        case 16: return NSObject()
        default: return UInt64.max
        }
    }

    private static func dictionary(_ generator: inout SplitMix64, key: SecKey, depth: Int = 0)
        -> NSMutableDictionary
    {
        let dictionary = NSMutableDictionary()
        for _ in 0..<Int.random(in: 0..<6, using: &generator) {
            guard let name = names.randomElement(using: &generator) else { continue }
            dictionary[name] = value(&generator, key: key, depth: depth)
        }
        return dictionary
    }

    @Test("a random dictionary ends in a status and never in a crash", arguments: [1, 2, 3, 4] as [UInt64])
    func random(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let enclave = ScriptedEnclave()
        let key = try KeyMaker.make()
        let publicKey = try KeyMaker.publicKey(key)
        try enclave.use {
            for _ in 0..<400 {
                let one = Self.dictionary(&generator, key: key)
                // RSA key generation is slow, so only elliptic-curve keys are generated.
                let parameters = one.mutableCopy() as! NSMutableDictionary
                parameters[kSecAttrKeyType] = parameters[kSecAttrKeyType] == nil ? nil : kSecAttrKeyTypeEC
                _ = SecKeyCreateRandomKey(parameters, nil)
                _ = SecKeyCreateWithData(Data(repeating: 4, count: 97) as CFData, one, nil)
                let algorithm = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
                _ = SecKeyCopyKeyExchangeResult(key, algorithm, publicKey, one, nil)
                var result: CFTypeRef?
                one.setValue(kSecClassKey, forKey: kSecClass as String)
                _ = SecItemAdd(one, &result)
                _ = SecItemCopyMatching(one, &result)
                _ = SecItemDelete(one)
            }
        }
    }
}
