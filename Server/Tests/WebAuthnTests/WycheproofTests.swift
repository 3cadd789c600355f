import TestVectors
import Testing
import WebAuthnModel

@testable import WebAuthn

/// Wycheproof's valid and invalid signatures, verified by the types that verify credentials and certificates.
@Suite("Wycheproof signatures", .vectors)
struct WycheproofTests {
    /// A file, and the expected number of its signatures.
    struct File: Sendable, CustomTestStringConvertible {
        let name: String
        let algorithm: COSEAlgorithm
        let count: Int

        var testDescription: String { name }

        /// A group's key, as a credential's COSE key.
        func key(_ group: JSONObject) throws -> COSEKey {
            let key = try #require(group["publicKey"]?.object)
            switch algorithm {
            case .edDSA: return .ed25519(try key.hexadecimal("pk"))
            case .rs256:
                return .rsa(
                    algorithm: .rs256,
                    n: Array(try key.hexadecimal("modulus").drop { $0 == 0 }),
                    e: Array(try key.hexadecimal("publicExponent").drop { $0 == 0 })
                )
            default:
                let point = try key.hexadecimal("uncompressed").dropFirst()
                return .ec2(
                    algorithm: algorithm,
                    curve: algorithm == .es256 ? .p256 : .p384,
                    x: Array(point.prefix(point.count / 2)),
                    y: Array(point.suffix(point.count / 2))
                )
            }
        }
    }

    @Test(
        "valid signatures are accepted and all others refused",
        arguments: [
            File(name: "ecdsa_secp256r1_sha256_test", algorithm: .es256, count: 484),
            File(name: "ecdsa_secp384r1_sha384_test", algorithm: .es384, count: 504),
            File(name: "ed25519_test", algorithm: .edDSA, count: 151),
            File(name: "rsa_signature_2048_sha256_test", algorithm: .rs256, count: 259),
        ]
    )
    func signatures(file: File) throws {
        var outcomes = ["accepted": 0, "refused": 0, "either": 0]
        for value in try #require(try Vectors.json("wycheproof/\(file.name).json")["testGroups"]?.array) {
            let group = try #require(value.object)
            // The key is encoded and parsed first, as an authenticator sends it.
            let key = try #require(SignatureKey(try COSEKey(parsing: try file.key(group).encoded)))
            for value in try #require(group["tests"]?.array) {
                let item = try #require(value.object)
                let isValid = key.isValid(
                    try item.hexadecimal("sig"),
                    for: try item.hexadecimal("msg"),
                    algorithm: file.algorithm
                )
                switch item["result"]?.string {
                case "valid":
                    #expect(isValid, "\(item["tcId"]?.integer ?? 0)")
                    outcomes["accepted", default: 0] += 1
                case "invalid":
                    #expect(!isValid, "\(item["tcId"]?.integer ?? 0)")
                    outcomes["refused", default: 0] += 1
                default: outcomes["either", default: 0] += 1
                }
                // No other algorithm accepts it.
                let other: COSEAlgorithm = file.algorithm == .es256 ? .es384 : .es256
                #expect(!key.isValid(try item.hexadecimal("sig"), for: [], algorithm: other))
            }
        }
        #expect(outcomes.values.reduce(0, +) == file.count)
        print(
            "Wycheproof \(file.name): \(outcomes["accepted"] ?? 0) to accept, \(outcomes["refused"] ?? 0) to refuse, "
                + "\(outcomes["either"] ?? 0) either"
        )
    }
}
