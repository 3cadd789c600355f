import Crypto
import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite("Software keys against Wycheproof's vectors")
struct WycheproofTests {
    private struct File: Decodable {
        struct Group: Decodable {
            struct Key: Decodable {
                let uncompressed: String?
            }
            let publicKey: Key?
            let publicKeyAsn: String?
            let tests: [Case]
        }
        struct Case: Decodable {
            let tcId: Int
            let comment: String
            let msg: String?
            let sig: String?
            let `public`: String?
            let `private`: String?
            let shared: String?
            let result: String
            let flags: [String]
        }
        let testGroups: [Group]
    }

    private static func path(_ name: String) -> String { "wycheproof/\(name)_test.json" }

    private static func file(_ name: String) throws -> File {
        try PublishedVectors.load(File.self, from: path(name))
    }

    private static let isThere = PublishedVectors.has(path("ecdsa_secp256r1_sha256"))

    @Test(
        "ECDSA verification agrees with the vectors",
        .enabled(if: isThere, "the published vectors are not there"),
        arguments: [
            ("ecdsa_secp256r1_sha256", SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256),
            ("ecdsa_secp256r1_sha256_p1363", .ecdsaSignatureMessageRFC4754SHA256),
            ("ecdsa_secp384r1_sha384", .ecdsaSignatureMessageX962SHA384),
        ]
    )
    func ecdsa(name: String, algorithm: SecKeyAlgorithm) throws {
        let file = try Self.file(name)
        var count = 0
        for group in file.testGroups {
            let octets = try #require(group.publicKey?.uncompressed.flatMap(Data.init(hexadecimal:)))
            let key = try KeyMaker.read(octets, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic)
            for test in group.tests {
                try Self.check(test, key, algorithm)
                count += 1
            }
        }
        #expect(count > 200)
    }

    @Test(
        "RSA verification agrees with the vectors",
        .enabled(if: isThere, "the published vectors are not there")
    )
    func rsa() throws {
        let file = try Self.file("rsa_signature_2048_sha256")
        for group in file.testGroups {
            let octets = try #require(group.publicKeyAsn.flatMap(Data.init(hexadecimal:)))
            let key = try KeyMaker.read(octets, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic)
            for test in group.tests { try Self.check(test, key, .rsaSignatureMessagePKCS1v15SHA256) }
        }
    }

    private static func check(_ test: File.Case, _ key: SecKey, _ algorithm: SecKeyAlgorithm) throws {
        // "Acceptable" is what lenient software accepts, such as a DigestInfo without NULL parameters.
        guard test.result != "acceptable" else { return }
        let message = try #require(test.msg.flatMap(Data.init(hexadecimal:)))
        let signature = try #require(test.sig.flatMap(Data.init(hexadecimal:)))
        #expect(
            SecKeyVerifySignature(key, algorithm, message as CFData, signature as CFData, nil)
                == (test.result == "valid"),
            "\(test.tcId): \(test.comment)"
        )
    }

    @Test(
        "P-256 agreement agrees with the vectors, and points off the curve are refused",
        .enabled(if: isThere, "the published vectors are not there")
    )
    func ecdh() throws {
        let file = try Self.file("ecdh_secp256r1_ecpoint")
        var valid = 0
        for test in file.testGroups.flatMap(\.tests) where !test.flags.contains("CompressedPoint") {
            let scalar = try #require(test.private.flatMap(Data.init(hexadecimal:)))
            let padded = Data(repeating: 0, count: max(0, 32 - scalar.count)) + scalar.suffix(32)
            let key = try P256.KeyAgreement.PrivateKey(rawRepresentation: padded)
            let mine = try KeyMaker.read(key.x963Representation, kSecAttrKeyTypeEC)
            let point = try #require(test.public.flatMap(Data.init(hexadecimal:)))
            let attributes =
                [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPublic] as CFDictionary
            let theirs = SecKeyCreateWithData(point as CFData, attributes, nil)
            guard test.result == "valid" else {
                #expect(theirs == nil, "\(test.tcId): \(test.comment)")
                continue
            }
            let secret = SecKeyCopyKeyExchangeResult(
                mine,
                .ecdhKeyExchangeStandard,
                try #require(theirs),
                [:] as CFDictionary,
                nil
            )
            #expect(secret as Data? == test.shared.flatMap(Data.init(hexadecimal:)), "\(test.tcId)")
            valid += 1
        }
        #expect(valid > 100)
    }
}

extension Data {
    /// Decodes hexadecimal text.
    init?(hexadecimal text: String) {
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        self.init()
        var rest = text[...]
        while !rest.isEmpty {
            guard let octet = UInt8(rest.prefix(2), radix: 16) else { return nil }
            append(octet)
            rest = rest.dropFirst(2)
        }
    }
}
