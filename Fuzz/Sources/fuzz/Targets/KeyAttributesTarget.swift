import CoreFoundation
import Foundation

@testable import Security

/// The attributes and bytes of keys, without a daemon: `SecKeyCreateWithData` and `SecKeyCreateRandomKey`.
///
/// The input is a byte that selects the function, a dictionary, and the bytes of a key.
enum KeyAttributesTarget: FuzzTarget {
    static let name = "key-attributes"

    static func run(_ input: Span<UInt8>) { NoDaemon.run { runAlone(input) } }

    private static func runAlone(_ input: Span<UInt8>) {
        var choices = Choices(input)
        let isNew = choices.octet() & 1 == 1
        let attributes = QueryValue.object(of: QueryValue.pairs(&choices))
        if isNew {
            // Generating an RSA key takes a second.
            if let parameters = try? KeyParameters(attributes), parameters.type == .rsa,
                2048...4096 ~= parameters.sizeInBits ?? 0
            {
                return
            }
            if let key = unsafe made({ unsafe SecKeyCreateRandomKey(attributes, &$0) }) { runKey(key) }
        } else {
            let data = Data(choices.rest()) as NSData
            guard let key = unsafe made({ unsafe SecKeyCreateWithData(data, attributes, &$0) }) else {
                return
            }
            runKey(key)
            let size = (attributes["bsiz"] as? Int) ?? key.material.sizeInBits
            require(size == key.material.sizeInBits, "a size that is given is right")
        }
    }

    /// An exported key must be read as an equal key, and so must its public half.
    private static func runKey(_ key: SecKey) {
        guard let exported = SecKeyCopyExternalRepresentation(key, nil),
            let attributes = SecKeyCopyAttributes(key), let publicKey = SecKeyCopyPublicKey(key)
        else { fatalError("broken promise: a key of this process is exported") }
        let again = unsafe made { unsafe SecKeyCreateWithData(exported, attributes, &$0) }
        require(again == key, "an exported key reads back")
        require(
            again.flatMap { SecKeyCopyExternalRepresentation($0, nil) } == exported,
            "a key has one encoding"
        )
        guard let publicData = SecKeyCopyExternalRepresentation(publicKey, nil),
            let publicAttributes = SecKeyCopyAttributes(publicKey)
        else { fatalError("broken promise: a public key is exported") }
        let publicAgain = unsafe made { unsafe SecKeyCreateWithData(publicData, publicAttributes, &$0) }
        require(publicAgain == publicKey, "a public key reads back")
        require(SecKeyGetBlockSize(key) == SecKeyGetBlockSize(publicKey), "halves have one size")
    }

    /// The key, or nil after an error that Apple's functions define.
    private static func made(_ make: (inout Unmanaged<CFError>?) -> SecKey?) -> SecKey? {
        var error = unsafe Unmanaged<CFError>?.none
        let key = unsafe make(&error)
        guard let failure = unsafe error?.takeRetainedValue() else {
            require(key != nil, "a key or an error")
            return key
        }
        let known = [
            errSecParam, errSecUnimplemented, errSecKeySizeNotAllowed, errSecNoSuchAttr, errSecNoSuchClass,
            errSecDataTooLarge, errSecNotAvailable,
        ]
        require(
            key == nil && known.contains(OSStatus(failure.code)),
            "a refusal by Apple's rules, not \(failure)"
        )
        return nil
    }

    private typealias Pair = (String, QueryValue)

    static func seeds() -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for key in Example.keys {
            guard let data = SecKeyCopyExternalRepresentation(key, nil) else { continue }
            let pairs: [Pair] = [
                ("type", .known(key.material.type.rawValue)),
                ("kcls", .known(key.material.isPrivate ? "1" : "0")),
            ]
            let octets = [UInt8](data as Data)
            seeds.append(seed(0, pairs, octets))
            seeds.append(seed(0, pairs + [("bsiz", .integer(Int64(key.material.sizeInBits)))], octets))
            seeds.append(seed(0, pairs + [("bsiz", .known("256"))], octets))
            seeds.append(seed(0, pairs + [("tkid", .known("com.apple.setoken"))], octets))
            seeds += damaged(octets, most: 8).map { seed(0, pairs, $0) }
        }
        let ec: [Pair] = [("type", .known("73"))]
        let tag: [(QueryValue, QueryValue)] = [
            (.known("atag"), .data(octets(4))), (.known("perm"), .flag(true)),
            (.known("accc"), .accessControl(1)),
        ]
        for size: Int64 in [0, 256, 384, 521, 1024] { seeds.append(seed(1, ec + [("bsiz", .integer(size))])) }
        let halves: [[Pair]] = [
            [("private", .attributes(tag))], [("public", .attributes(tag))], [("perm", .flag(true))],
            [("private", .attributes(tag)), ("tkid", .known("com.apple.setoken"))], [("private", .list([]))],
            [("private", .attributes([(.known("tkid"), .known("com.apple.setoken"))]))],
            [("agrp", .text("g"))],
        ]
        for half in halves { seeds.append(seed(1, ec + [("bsiz", .known("256"))] + half)) }
        seeds.append(seed(1, [("type", .known("42")), ("bsiz", .integer(1000))]))
        seeds.append(seed(1, []))
        return seeds
    }

    private static func seed(_ function: UInt8, _ attributes: [Pair], _ data: [UInt8] = []) -> [UInt8] {
        var writer = ChoiceWriter()
        writer.write(function)
        QueryValue.write(attributes, to: &writer)
        writer.write(QueryValue.end)
        writer.write(rest: data)
        return writer.octets
    }
}

extension Example {
    /// The generator of P-256, uncompressed X9.63: the public key of the private key 1.
    static let publicKey: [UInt8] = hex(
        "046B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"
            + "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"
    )

    /// Public test keys: both halves of 1 on P-256, and of an RSA key made for this purpose.
    static let keys: [SecKey] = {
        let one = [UInt8](repeating: 0, count: 31) + [1]
        let elliptic = ["type": "73", "kcls": "1"] as NSDictionary
        let rsa = ["type": "42", "kcls": "1"] as NSDictionary
        guard let first = SecKeyCreateWithData(Data(publicKey + one) as NSData, elliptic, nil),
            let rsaData = Data(base64Encoded: rsaPrivateKey),
            let second = SecKeyCreateWithData(rsaData as NSData, rsa, nil)
        else { fatalError("the example's keys are none") }
        return [first, second].flatMap { [$0, SecKeyCopyPublicKey($0)].compactMap(\.self) }
    }()

    /// 1024 bits, PKCS #1.
    private static let rsaPrivateKey: String = {
        let lines: [String] = [
            "MIICXAIBAAKBgQCvh3Z06p350YU3lHUxBzhLRygY9QiWbnPSRDR+O5i0SnaN3NSyVevWQcwebLkRTpFW",
            "T27gfqYmzqJEFJfI/XbFnQWojcZKN190fMBFGGMs3ieopBgHFZ8XG6sNeaScur+r5F4j+VP62rC8q35N",
            "fNKEmLt9k6/8nUmN8J1JSNeVtQIDAQABAoGABcmwtUA7P06SVvfVOW2khI7vGouR4ev4c7l+BZ+PdHp0",
            "GE9s0AiXQzReN66cF58Amdj6rfpfHi54GUiYjK8W6HU9g9CRMRkCbfK5NwHZzIO9+FrFrY2nQbJvLmbZ",
            "6MjfFPEyHH68GA2BsGbU+Zlt7cvEcEu+YAVagHFWgCLVB0ECQQDanI2DSAYYm71eCYIYZPwpZ0zgvNBV",
            "dv5HLpVmMHcmKRCJrOVFi8crm2i6S/JcPfTbaYBsBiYUy9VDmrf9WQxRAkEAzYyjYgmAKEwww5iV24dy",
            "RVaPFqHl60zHe2p7Y53jn0QPTB1wW1ae0ojXQbUWuc9K8rg3LjfJD3pPYW/ad05uJQJBAM4mPUhkXeNM",
            "0dlgq/6nFCdTE2sGgotlh8nGQvo3j9Q7ey3pDdd0RWB4z9yGC8kyX7mclo7HiZeo07ZJq2FMXNECQC24",
            "5Pb/ygQsvoQjwuHsRRzrXjTYmn42vADV9NB55JIe35A81CtdH0MRsWAqWf3HAJLxK0Uan5zTxiiUavIy",
            "/gkCQHnKbAJTgzFNZO/Q5rSf7gRmzFxs57nc+d1RKVPabJn2rcGC9Mj4wChwjcuJPiuJ7vhHhnf65sES",
            "AORUsjl2uqI=",
        ]
        return lines.joined()
    }()

    private static func hex(_ text: String) -> [UInt8] {
        let digits = text.utf8.map { $0 <= 0x39 ? $0 - 0x30 : $0 - 0x37 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
