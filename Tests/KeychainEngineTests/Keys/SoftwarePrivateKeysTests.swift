import Crypto
import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("Private keys in software")
struct SoftwarePrivateKeysTests {
    private let keys = SoftwarePrivateKeys()

    @Test("a software key signs digests of every length verifiably")
    func signs() async throws {
        let authorization = SecretBytes.random(count: 32)
        let key = try await keys.makeKey(authorization: authorization)
        let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        func signature(_ digest: [UInt8]) async throws -> P256.Signing.ECDSASignature {
            try P256.Signing.ECDSASignature(
                rawRepresentation: await keys.sign(
                    digest: digest,
                    with: key.blob,
                    authorization: authorization.copy()
                )
            )
        }
        let (sha1, sha256) = (Insecure.SHA1.hash(data: Letter.text), SHA256.hash(data: Letter.text))
        let (sha384, sha512) = (SHA384.hash(data: Letter.text), SHA512.hash(data: Letter.text))
        #expect(publicKey.isValidSignature(try await signature(Array(sha1)), for: sha1))
        #expect(publicKey.isValidSignature(try await signature(Array(sha256)), for: sha256))
        #expect(publicKey.isValidSignature(try await signature(Array(sha384)), for: sha384))
        #expect(publicKey.isValidSignature(try await signature(Array(sha512)), for: sha512))
        #expect(!publicKey.isValidSignature(try await signature(Array(sha512)), for: sha256))
        await #expect(throws: KeychainError(.param)) { try await signature([1, 2, 3]) }
    }

    @Test("a software key opens only with its own authorisation")
    func authorization() async throws {
        let authorization = SecretBytes.random(count: 32)
        let key = try await keys.makeKey(authorization: authorization)
        let other = SecretBytes.random(count: 32)
        await #expect(throws: KeychainError(.authFailed)) {
            try await keys.sign(digest: Letter.digest, with: key.blob, authorization: other.copy())
        }
        await #expect(throws: KeychainError(.authFailed)) {
            _ = try await keys.agree(with: key.publicKey, key: key.blob, authorization: other.copy())
        }
    }

    @Test("a malformed or altered blob is rejected")
    func blobs() async throws {
        let authorization = SecretBytes.random(count: 32)
        let key = try await keys.makeKey(authorization: authorization)
        #expect(key.blob.count <= HardwareKey.longestBlob)
        for blob in [[], [1], key.blob + [0], [2] + key.blob.dropFirst()] as [[UInt8]] {
            await #expect(throws: KeychainError(.decode)) {
                try await keys.sign(digest: Letter.digest, with: blob, authorization: authorization.copy())
            }
        }
        for index in 1..<key.blob.count {
            var blob = key.blob
            blob[index] ^= 0x10
            await #expect(throws: KeychainError(.authFailed)) {
                try await keys.sign(digest: Letter.digest, with: blob, authorization: authorization.copy())
            }
        }
    }
}
