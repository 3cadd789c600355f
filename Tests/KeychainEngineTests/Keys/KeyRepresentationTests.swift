import Crypto
import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("The representation of a private key")
struct KeyRepresentationTests {
    let keychain = TestKeychain()

    @Test("a representation restores its key, also after a restart")
    func comesBack() async throws {
        let key: EnclaveKey
        do {
            let engine = try await keychain.setUp().0
            key = try await engine.makeKey()
            #expect(!key.isHardware)
            #expect(key.accessControl == AccessControl(accessibility: .whenUnlocked))
            #expect(try await engine.key(key.representation, groups: [.ours]) == key)
            await engine.close()
        }
        let later = try await keychain.restart()
        #expect(try await later.key(key.representation, groups: [.ours]) == key)
        #expect(try key.signed(try await later.result(key)))
    }

    @Test("agreement and decryption yield the same shared secret as the peer computes")
    func agrees() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey()
        let other = try await engine.makeKey()
        let peer = P256.KeyAgreement.PrivateKey()
        let expected = try peer.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: key.publicKey)
        ).withUnsafeBytes { Array($0) }
        let point = Array(peer.publicKey.x963Representation)
        #expect(try await engine.result(key, .agree(publicKey: point)) == expected)
        #expect(try await engine.result(key, .decrypt(publicKey: point)) == expected)
        let there = try await engine.result(key, .agree(publicKey: other.publicKey))
        #expect(try await engine.result(other, .agree(publicKey: key.publicKey)) == there)
        #expect(there != expected)
    }

    @Test("a representation with a flipped bit, a missing or an extra byte is damaged")
    func bitFlips() async throws {
        let (engine, passcode) = try await keychain.setUp()
        let key = try await engine.makeKey([.userPresence, .privateKeyUsage])
        let proofs = [
            Proofs.of(key.accessControl, [.biometry, .passcode], key: passcode, operation: .useKeySign)
        ]
        #expect(try key.signed(try await engine.result(key, proofs: proofs)))
        var damaged: [[UInt8]] = [[], key.representation + [0]]
        for index in key.representation.indices {
            var octets = key.representation
            octets[index] ^= 1 << UInt8(index % 8)
            damaged += [octets, Array(key.representation[..<index])]
        }
        damaged.append([UInt8](repeating: 1, count: EnclaveKey.longestRepresentation + 1))
        for octets in damaged {
            let error = await #expect(throws: KeychainError(.decode)) {
                try await engine.result(key.with(representation: octets), proofs: proofs)
            }
            #expect(error?.cause == .damaged)
            await #expect(throws: KeychainError(.decode)) {
                try await engine.key(octets, groups: [.ours])
            }
        }
    }

    @Test("a representation is rejected for another group and in another keychain with the same passcode")
    func foreign() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(group: .ours)
        for use in [KeyUse.sign(digest: Letter.digest), .agree(publicKey: key.publicKey)] {
            let error = await #expect(throws: KeychainError(.decode)) {
                try await engine.result(key, use, group: .theirs)
            }
            #expect(error?.cause == .otherGroup)
        }
        await #expect(throws: KeychainError(.decode)) {
            try await engine.key(key.representation, groups: [.theirs])
        }
        #expect(try await engine.key(key.representation, groups: [.theirs, .ours]) == key)
        let elsewhere = TestKeychain()
        let (other, _) = try await elsewhere.setUp()
        let error = await #expect(throws: KeychainError(.decode)) { try await other.result(key) }
        #expect(error?.cause == .damaged)
    }

    @Test("a representation reveals nothing without the keybag, and no two are alike")
    func opaque() async throws {
        let (engine, _) = try await keychain.setUp()
        let first = try await engine.makeKey([.userPresence, .privateKeyUsage])
        let second = try await engine.makeKey([.userPresence, .privateKeyUsage])
        #expect(first.publicKey != second.publicKey)
        let octets = Data(first.representation)
        for part in [
            Data(first.publicKey[1..<33]), Data(AccessGroup.ours.name.utf8),
            Data(first.accessControl.encoded),
        ] {
            #expect(octets.range(of: part) == nil)
        }
        // Equal fields are sealed with fresh randomness.
        #expect(zip(first.representation, second.representation).count { $0 == $1 } < 32)
    }

    @Test("the longest group name and the largest blob fit into a representation")
    func longest() async throws {
        struct LargeBlobs: PrivateKeyHardware {
            let isHardware = true
            func makeKey(authorization: borrowing SecretBytes) async throws(KeychainError) -> HardwareKey {
                let blob = [UInt8](repeating: 1, count: HardwareKey.longestBlob)
                return HardwareKey(blob: blob, publicKey: [4] + [UInt8](repeating: 2, count: 64))
            }
            func sign(digest: [UInt8], with key: [UInt8], authorization: borrowing SecretBytes)
                async throws(KeychainError) -> [UInt8]
            { key }
            func agree(with publicKey: [UInt8], key: [UInt8], authorization: borrowing SecretBytes)
                async throws(KeychainError) -> SecretBytes
            { SecretBytes(copying: key) }
        }
        let engine = try await keychain.setUp(privateKeys: LargeBlobs())
        let group = AccessGroup(String(repeating: "g", count: AccessGroup.longestName)).required
        let key = try await engine.makeKey(
            [.userPresence, .applicationPassword, .privateKeyUsage],
            group: group,
            password: "right"
        )
        #expect(key.representation.count <= EnclaveKey.longestRepresentation)
        #expect(try await engine.key(key.representation, groups: [group]) == key)
        let proof = Proofs.of(key.accessControl, [.biometry], operation: .useKeySign)
        let result = try await engine.result(key, group: group, proofs: [proof], password: "right")
        #expect(result.count == HardwareKey.longestBlob)
    }

    @Test("a representation is usable only with the hardware that made the key")
    func otherHardware() async throws {
        let key: EnclaveKey
        do {
            let engine = try await keychain.setUp(privateKeys: ScriptedHardware())
            key = try await engine.makeKey()
            #expect(key.isHardware)
            #expect(try key.signed(try await engine.result(key)))
            await engine.close()
        }
        let software = try await keychain.restart()
        let error = await #expect(throws: KeychainError(.decode)) { try await software.result(key) }
        #expect(error?.cause == .otherHardware)
    }

    @Test("a software key remains usable after hardware becomes available")
    func softwareBefore() async throws {
        let key: EnclaveKey
        do {
            let engine = try await keychain.setUp().0
            key = try await engine.makeKey()
            await engine.close()
        }
        let hardware = ScriptedHardware(before: { () throws(KeychainError) in
            throw KeychainError(.internalComponent)
        })
        let engine = try keychain.start(privateKeys: hardware)
        _ = try await engine.key(TestKeychain.passcode)
        #expect(try await engine.key(key.representation, groups: [.ours]) == key)
        #expect(try key.signed(try await engine.result(key)))
    }

    @Test("locking the keybag while the hardware is working yields no key")
    func lockedMeanwhile() async throws {
        let engines = Handover()
        let hardware = ScriptedHardware(before: { () throws(KeychainError) in await engines.engine?.lock() })
        let engine = try await keychain.setUp(privateKeys: hardware)
        await engines.set(engine)
        let error = await #expect(throws: KeychainError(.interactionNotAllowed)) {
            try await engine.makeKey()
        }
        #expect(error?.cause == .locked)
        await engines.set(nil)
    }

    /// Hands an engine to its own hardware.
    private actor Handover {
        private(set) var engine: KeychainEngine?
        func set(_ engine: KeychainEngine?) { self.engine = engine }
    }

    @Test("an error from the hardware is passed on unchanged")
    func refusingHardware() async throws {
        let refusal = KeychainError(.authFailed, cause: .exhausted, remedy: .recover)
        let hardware = ScriptedHardware(before: { () throws(KeychainError) in throw refusal })
        let engine = try await keychain.setUp(privateKeys: hardware)
        let error = await #expect(throws: KeychainError(.authFailed)) { try await engine.makeKey() }
        #expect(error?.cause == .exhausted)
        #expect(error?.remedy == .recover)
    }

    @Test("a malformed digest, a malformed public key and a point off the curve are rejected")
    func malformedUse() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey()
        let off = [4] + [UInt8](repeating: 9, count: 64)
        for use in [
            KeyUse.sign(digest: [1]), .sign(digest: []), .agree(publicKey: [4]), .agree(publicKey: off),
            .decrypt(publicKey: off), .decrypt(publicKey: [2] + key.publicKey[1..<33]),
        ] {
            await #expect(throws: KeychainError(.param)) { try await engine.result(key, use) }
        }
    }
}
