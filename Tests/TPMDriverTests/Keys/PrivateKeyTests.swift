import Crypto
import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import TPMDriver

@Suite("Private keys in the TPM")
struct PrivateKeyTests {
    private let message = Array("a message".utf8)

    @Test("signatures over SHA-1, SHA-256, SHA-384 and SHA-512 digests verify with swift-crypto and OpenSSL")
    func signs() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        func check<Hash: HashFunction>(_: Hash.Type, _ name: String) async throws {
            let digest = Hash.hash(data: message)
            let octets = try await world.keys.sign(
                digest: Array(digest),
                with: key.blob,
                authorization: .fixed(1)
            )
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: octets)
            #expect(publicKey.isValidSignature(signature, for: digest))
            let other = Hash.hash(data: message + [0])
            #expect(!publicKey.isValidSignature(signature, for: other))
            #expect(try await OpenSSL.verifies(signature, message, name, publicKey))
            #expect(try await !OpenSSL.verifies(signature, message + [0], name, publicKey))
        }
        try await check(Insecure.SHA1.self, "sha1")
        try await check(SHA256.self, "sha256")
        try await check(SHA384.self, "sha384")
        try await check(SHA512.self, "sha512")
    }

    @Test("numbers have 32 bytes, also where a TPM omits leading zeros", arguments: [0, 1, 31, 32])
    func pads(count: Int) {
        let number = [UInt8](repeating: 9, count: count)
        #expect(P256Octets.padded(number) == [UInt8](repeating: 0, count: 32 - count) + number)
    }

    @Test("a key agrees with a software key on the same secret")
    func agrees() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let publicKey = try P256.KeyAgreement.PublicKey(x963Representation: key.publicKey)
        for _ in 0..<4 {
            let peer = P256.KeyAgreement.PrivateKey()
            let secret = try await world.keys.agree(
                with: Array(peer.publicKey.x963Representation),
                key: key.blob,
                authorization: .fixed(1)
            )
            let expected = try peer.sharedSecretFromKeyAgreement(with: publicKey).withUnsafeBytes {
                Array($0)
            }
            #expect(secret.octets == expected)
        }
    }

    @Test("each key is new, and its blob is small")
    func isNew() async throws {
        let world = try await KeyWorld.start()
        let first = try await world.keys.makeKey(authorization: .fixed(1))
        let second = try await world.keys.makeKey(authorization: .fixed(1))
        #expect(first.publicKey != second.publicKey)
        #expect(first.blob != second.blob)
        #expect(first.blob.count <= 1024)
        #expect(world.keys.isHardware)
    }

    @Test("a key survives a restart, and a power cut while the driver is connected")
    func survives() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        await world.tpm.close()
        try await world.chip.reset()
        try await world.expectToSign(key, .fixed(1))
        try await world.chip.powerCut()
        try await world.expectToSign(key, .fixed(1))
    }

    @Test("a digest of the wrong size and an invalid point are refused before any command")
    func parameters() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let before = await world.tpm.commandCount
        for count in [0, 1, 16, 19, 21, 28, 31, 33, 47, 49, 63, 65, 4096] {
            await #expect(throws: KeychainError(.param)) {
                _ = try await world.keys.sign(
                    digest: [UInt8](repeating: 1, count: count),
                    with: key.blob,
                    authorization: .fixed(1)
                )
            }
        }
        var compressed = key.publicKey
        compressed[0] = 2
        for point in [[], [4], Array(key.publicKey.dropLast()), key.publicKey + [0], compressed] {
            await #expect(throws: KeychainError(.param)) {
                _ = try await world.keys.agree(with: point, key: key.blob, authorization: .fixed(1))
            }
        }
        #expect(await world.tpm.commandCount == before)
    }

    @Test("a point off the curve is refused")
    func offCurve() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        var moved = key.publicKey
        moved[64] ^= 1
        let zeros = [4] + [UInt8](repeating: 0, count: 64)
        let ones = [4] + [UInt8](repeating: 0xFF, count: 64)
        for point in [moved, zeros, ones] {
            await #expect(throws: KeychainError(.param)) {
                _ = try await world.keys.agree(with: point, key: key.blob, authorization: .fixed(1))
            }
        }
        try await world.expectToSign(key, .fixed(1))
    }

    @Test(
        "a wrong authorisation is refused each time, and the TPM's lockout counter stays untouched"
    )
    func wrongAuthorization() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        for _ in 0..<10 {
            let error = await #expect(throws: KeychainError.self) {
                _ = try await world.keys.sign(
                    digest: [UInt8](repeating: 1, count: 32),
                    with: key.blob,
                    authorization: .fixed(2)
                )
            }
            #expect(error == KeychainError(.authFailed))
            #expect(error?.cause?.code.hasPrefix("0x9a2") == true)
            await #expect(throws: KeychainError(.authFailed)) {
                _ = try await world.keys.agree(with: key.publicKey, key: key.blob, authorization: .fixed(2))
            }
        }
        #expect(try await world.tpm.status().lockoutCounter == 0)
        try await world.expectToSign(key, .fixed(1))
    }

    @Test("another TPM, and the same one after a clear, refuse the key with an error of its own")
    func otherHardware() async throws {
        let world = try await KeyWorld.start()
        let other = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        func expectOtherHardware(_ keys: TPMPrivateKeys) async {
            let error = await #expect(throws: KeychainError.self) {
                _ = try await keys.sign(
                    digest: [UInt8](repeating: 1, count: 32),
                    with: key.blob,
                    authorization: .fixed(1)
                )
            }
            #expect(error == KeychainError(.decode))
            #expect(error?.cause == .otherHardware)
        }
        await expectOtherHardware(other.keys)
        await world.tpm.close()
        try await world.chip.clear()
        await expectOtherHardware(world.keys)
    }

    @Test("a blob with any byte changed, another key's blob and an invalid blob are refused")
    func tamperedBlob() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        func expectRefusal(_ blob: [UInt8], _ what: String) async {
            await #expect(throws: KeychainError(.decode), "\(what)") {
                _ = try await world.keys.sign(
                    digest: [UInt8](repeating: 1, count: 32),
                    with: blob,
                    authorization: .fixed(1)
                )
            }
        }
        for position in key.blob.indices {
            var blob = key.blob
            blob[position] ^= 0x10
            await expectRefusal(blob, "byte \(position)")
        }
        for count in [0, 1, 40, key.blob.count - 1] { await expectRefusal(Array(key.blob[..<count]), "cut") }
        await expectRefusal(key.blob + [0], "longer")
        await expectRefusal([UInt8](repeating: 0x41, count: 100_000), "huge")
        let sealed = try await TPMKeySealer(world.tpm).seal(authorization: .fixed(1))
        await expectRefusal(sealed.blob, "a keybag's")
        try await world.expectToSign(key, .fixed(1))
    }
}
