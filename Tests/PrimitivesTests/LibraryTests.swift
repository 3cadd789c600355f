import Crypto
import Primitives
import SecretMemory
import Testing

@Suite("Comparison with swift-crypto")
struct LibraryTests {
    let key = Key(SecretBytes(copying: Array(0..<32)))
    let reference = SymmetricKey(data: Array(0..<32) as [UInt8])

    @Test("sealing is AES-256-GCM", arguments: [0, 1, 15, 16, 17, 300, 5000])
    func sealing(count: Int) throws {
        let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let context = Array("associated".utf8)
        let sealed = unsafe plaintext.withUnsafeBytes {
            unsafe AEAD.seal($0, with: key.symmetric, authenticating: context)
        }
        let box = try AES.GCM.SealedBox(combined: sealed)
        #expect(Array(try AES.GCM.open(box, using: reference, authenticating: context)) == plaintext)

        let foreign = try AES.GCM.seal(plaintext, using: reference, authenticating: context)
        let combined = try #require(foreign.combined)
        let opened = try unsafe AEAD.open(Array(combined), with: key.symmetric, authenticating: context) {
            unsafe Array($0)
        }
        #expect(opened == plaintext)
    }

    @Test("altered and truncated data do not open")
    func changes() throws {
        let plaintext: [UInt8] = [1, 2, 3]
        let sealed = unsafe plaintext.withUnsafeBytes {
            unsafe AEAD.seal($0, with: key.symmetric, authenticating: [7])
        }
        func opens(_ sealed: [UInt8], _ key: Key, _ context: [UInt8]) -> Bool {
            (try? unsafe AEAD.open(sealed, with: key.symmetric, authenticating: context) { _ in }) != nil
        }
        #expect(opens(sealed, key, [7]))
        #expect(!opens(sealed, key, [8]))
        #expect(!opens(sealed, key, []))
        #expect(!opens(sealed, .random(), [7]))
        for bit in 0..<(8 * sealed.count) {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!opens(changed, key, [7]), "bit \(bit)")
        }
        for count in 0..<sealed.count {
            #expect(!opens(Array(sealed.prefix(count)), key, [7]), "\(count) bytes")
        }
    }

    @Test("a nonce is never reused")
    func nonces() {
        let nonces = (0..<200).map { _ in
            unsafe [UInt8]().withUnsafeBytes {
                unsafe AEAD.seal($0, with: key.symmetric, authenticating: []).prefix(12)
            }
        }
        #expect(Set(nonces).count == nonces.count)
    }

    @Test("random bytes drawn in advance are handed out once, and new ones after them")
    func supply() {
        var random = RandomSupply(count: 100)
        var nonces: [ArraySlice<UInt8>] = []
        for _ in 0..<200 {
            let sealed = unsafe [UInt8]().withUnsafeBytes {
                unsafe AEAD.seal($0, with: key.symmetric, authenticating: [], &random)
            }
            nonces.append(sealed.prefix(12))
        }
        #expect(Set(nonces).count == nonces.count)
    }

    @Test("a keyed digest is HMAC-SHA256", arguments: [0, 1, 55, 56, 63, 64, 65, 1000])
    func digests(count: Int) {
        let octets = (0..<count).map { UInt8(truncatingIfNeeded: 3 &* $0) }
        let expected = Array(HMAC<Crypto.SHA256>.authenticationCode(for: octets, using: reference))
        #expect(KeyedDigest.of(octets, key: key) == expected)
        let digest = KeyedDigest(key)
        #expect(digest.prefix(8, of: octets) == Array(expected.prefix(8)))
        #expect(digest.prefix(32, of: octets) == expected, "one digest leaves the key as it was")
    }

    @Test(
        "a digest is SHA-256, for secret and public data",
        arguments: [0, 1, 55, 56, 63, 64, 65, 1000]
    )
    func digest(count: Int) {
        let octets = (0..<count).map { UInt8(truncatingIfNeeded: 5 &* $0) }
        let expected = Array(Crypto.SHA256.hash(data: octets))
        #expect(Primitives.SHA256.digest(of: octets) == expected)
        #expect(Primitives.SHA256.digest(ofSecret: octets.span).withOctets(Array.init) == expected)
    }

    @Test("key derivation is HKDF-SHA256", arguments: [0, 1, 32, 64, 300], [1, 32, 42, 8160])
    func derivation(inputs: Int, count: Int) {
        let secret = (0..<inputs).map { UInt8(truncatingIfNeeded: 7 &* $0) }
        let (salt, info) = (Array(secret.reversed()), Array(secret.prefix(100)))
        var derived = [UInt8](repeating: 0, count: count)
        unsafe derived.withUnsafeMutableBytes { room in
            unsafe secret.withUnsafeBytes {
                unsafe Primitives.HKDF.derive(from: $0, salt: salt, info: info, into: room)
            }
        }
        let expected = Crypto.HKDF<Crypto.SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            salt: salt,
            info: info,
            outputByteCount: count
        )
        #expect(derived == expected.withUnsafeBytes { unsafe Array($0) })
    }

    @Test("key agreement is X25519, and refuses keys that give a known secret")
    func agreement() throws {
        for _ in 0..<20 {
            let theirs = Curve25519.KeyAgreement.PrivateKey()
            let mine = Key.random()
            let publicKey = unsafe mine.withUnsafeBytes { unsafe X25519.publicKey(of: $0) }
            let secret = try theirs.sharedSecretFromKeyAgreement(
                with: Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
            )
            let peer = Array(theirs.publicKey.rawRepresentation)
            let agreed = unsafe mine.withUnsafeBytes { unsafe X25519.agreement($0, with: peer) }
            #expect(agreed?.withOctets(Array.init) == secret.withUnsafeBytes { unsafe Array($0) })
        }
        for peer in [[UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31), [], [9]] {
            #expect(unsafe key.withUnsafeBytes { unsafe X25519.agreement($0, with: peer) } == nil)
        }
    }
}

extension [UInt8] {
    /// Copies the bytes of a span.
    init(_ octets: Span<UInt8>) { self = octets.indices.map { octets[$0] } }
}
