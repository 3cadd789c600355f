import Foundation
import SecretMemory
import Testing

@testable import Primitives

/// The vectors of swift-crypto's own tests, in the checkout that this build used.
@Suite(
    "Published vectors",
    .enabled(if: VectorFiles.folder != nil, "swift-crypto was not checked out for this build")
)
struct PublishedVectorTests {
    private struct Sealing: Decodable {
        struct Group: Decodable {
            let ivSize: Int
            let keySize: Int
            let tagSize: Int
            let tests: [Case]
        }
        struct Case: Decodable {
            let tcId: Int
            let comment: String
            let key: String
            let iv: String
            let aad: String
            let msg: String
            let ct: String
            let tag: String
            let result: String
        }
        let testGroups: [Group]
    }

    @Test("AES-256-GCM passes Wycheproof: the same ciphertexts, valid ones open, invalid ones do not")
    func sealing() throws {
        let groups = try VectorFiles.load(Sealing.self, from: "aes_gcm_test.json").testGroups
        let tests = groups.filter { $0.keySize == 256 && $0.ivSize == 96 && $0.tagSize == 128 }.flatMap(
            \.tests
        )
        for test in tests {
            let key = Key(SecretBytes(copying: [UInt8](hexadecimal: test.key)))
            let (nonce, associated) = ([UInt8](hexadecimal: test.iv), [UInt8](hexadecimal: test.aad))
            let plaintext = [UInt8](hexadecimal: test.msg)
            let sealed = [UInt8](hexadecimal: test.ct + test.tag)
            let opened = try? unsafe AEAD.open(
                nonce + sealed,
                with: key.symmetric,
                authenticating: associated
            ) { unsafe Array($0) }
            guard test.result == "valid" else {
                #expect(opened == nil, "\(test.tcId): \(test.comment)")
                continue
            }
            #expect(opened == plaintext, "\(test.tcId): \(test.comment)")
            var ours = [UInt8](repeating: 0, count: sealed.count)
            unsafe ours.withUnsafeMutableBytes { room in
                unsafe nonce.withUnsafeBytes { nonce in
                    unsafe plaintext.withUnsafeBytes { plaintext in
                        unsafe associated.withUnsafeBytes {
                            unsafe key.symmetric.seal(plaintext, into: room, nonce, authenticating: $0)
                        }
                    }
                }
            }
            #expect(ours == sealed, "\(test.tcId): \(test.comment)")
        }
        #expect(tests.count > 50)
        #expect(tests.count { $0.result == "invalid" } > 20)
    }

    private struct Agreement: Decodable {
        struct Group: Decodable {
            let tests: [Case]
        }
        struct Case: Decodable {
            let tcId: Int
            let comment: String
            let `public`: String
            let `private`: String
            let shared: String
        }
        let testGroups: [Group]
    }

    @Test("X25519 passes Wycheproof, and refuses publicly known secrets")
    func agreement() throws {
        let groups = try VectorFiles.load(Agreement.self, from: "x25519_test.json").testGroups
        var known = 0
        for test in groups.flatMap(\.tests) {
            let peer = [UInt8](hexadecimal: test.public)
            let agreed = unsafe [UInt8](hexadecimal: test.private).withUnsafeBytes {
                unsafe X25519.agreement($0, with: peer)
            }
            let expected = [UInt8](hexadecimal: test.shared)
            if expected.allSatisfy({ $0 == 0 }) {
                #expect(agreed == nil, "\(test.tcId): \(test.comment)")
                known += 1
            } else {
                #expect(agreed?.withOctets(Array.init) == expected, "\(test.tcId): \(test.comment)")
            }
        }
        #expect(groups.flatMap(\.tests).count > 500)
        #expect(known > 10)
    }

    @Test("HKDF-SHA256 gives the results of RFC 5869, appendix A")
    func derivation() throws {
        let cases = try VectorFiles.fields(of: "rfc-5869-HKDF-SHA256.txt")
        for test in cases {
            let expected = [UInt8](hexadecimal: test["OKM", default: ""])
            var derived = [UInt8](repeating: 0, count: expected.count)
            unsafe derived.withUnsafeMutableBytes { room in
                unsafe [UInt8](hexadecimal: test["IKM", default: ""]).withUnsafeBytes { secret in
                    unsafe HKDF.derive(
                        from: secret,
                        salt: [UInt8](hexadecimal: test["salt", default: ""]),
                        info: [UInt8](hexadecimal: test["info", default: ""]),
                        into: room
                    )
                }
            }
            #expect(derived == expected, "case \(test["COUNT", default: "?"])")
        }
        #expect(cases.count == 3)
    }
}

/// A keyed digest of RFC 4231, section 4.
struct HMACVector: Sendable, CustomTestStringConvertible {
    let number: Int
    let key: [UInt8]
    let text: [UInt8]
    let digest: String

    var testDescription: String { "test case \(number)" }

    static let all = [
        HMACVector(
            number: 1,
            key: [UInt8](repeating: 0x0B, count: 20),
            text: Array("Hi There".utf8),
            digest: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        HMACVector(
            number: 2,
            key: Array("Jefe".utf8),
            text: Array("what do ya want for nothing?".utf8),
            digest: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        HMACVector(
            number: 3,
            key: [UInt8](repeating: 0xAA, count: 20),
            text: [UInt8](repeating: 0xDD, count: 50),
            digest: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        HMACVector(
            number: 4,
            key: Array(0x01...0x19),
            text: [UInt8](repeating: 0xCD, count: 50),
            digest: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        HMACVector(
            number: 6,
            key: [UInt8](repeating: 0xAA, count: 131),
            text: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            digest: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        HMACVector(
            number: 7,
            key: [UInt8](repeating: 0xAA, count: 131),
            text: Array(
                """
                This is a test using a larger than block-size key and a larger than block-size data. \
                The key needs to be hashed before being used by the HMAC algorithm.
                """.utf8
            ),
            digest: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]
}

@Suite("HMAC-SHA256 vectors")
struct HMACVectorTests {
    @Test(
        "keyed digests equal those of RFC 4231, also for keys longer than a block",
        arguments: HMACVector.all
    )
    func digest(vector: HMACVector) {
        let digest = KeyedDigest.of(vector.text, key: Key(SecretBytes(copying: vector.key)))
        #expect(digest == [UInt8](hexadecimal: vector.digest))
    }
}
