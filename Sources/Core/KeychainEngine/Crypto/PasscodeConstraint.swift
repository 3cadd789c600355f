internal import CCryptoBoringSSL
internal import KeychainModel
internal import SecretMemory

/// X25519 (RFC 7748) between a fresh key and the keybag's passcode key: adding an item that is constrained to
/// the passcode needs the public half alone, opening it the private half, which only the passcode opens.
///
/// Calls the BoringSSL that swift-crypto brings, into locked memory; what the library leaves on the stack is wiped.
enum PasscodeConstraint {
    static let publicKeyByteCount = 32

    /// A new pair for a keybag.
    static func makePair() -> (publicKey: [UInt8], privateKey: Key) {
        let secret = Key.random()
        return (unsafe secret.withUnsafeBytes { unsafe publicKey(of: $0) }, secret)
    }

    /// The public half of `privateKey`; nil when it is none.
    static func publicKey(of privateKey: PasscodeKey) -> [UInt8]? {
        privateKey.withOctets { octets in
            unsafe octets.withUnsafeBytes { octets in
                octets.count == Key.byteCount ? unsafe publicKey(of: octets) : nil
            }
        }
    }

    /// A fresh share and the key that it agrees on with `publicKey`.
    static func encapsulate(to publicKey: [UInt8]) -> (share: [UInt8], key: Key)? {
        let fresh = makePair()
        let key = unsafe fresh.privateKey.withUnsafeBytes {
            unsafe agreed($0, with: publicKey, share: fresh.publicKey, publicKey)
        }
        return key.map { (fresh.publicKey, $0) }
    }

    /// The key that `privateKey` agrees on with a share.
    static func decapsulate(_ share: [UInt8], with privateKey: PasscodeKey) -> Key? {
        privateKey.withOctets { octets in
            unsafe octets.withUnsafeBytes { octets in
                guard octets.count == Key.byteCount else { return nil }
                return unsafe agreed(octets, with: share, share: share, publicKey(of: octets))
            }
        }
    }

    private static func publicKey(of privateKey: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: publicKeyByteCount) { room, count in
            LockedStack.wiping {
                unsafe CCryptoBoringSSL_X25519_public_from_private(
                    room.baseAddress,
                    privateKey.baseAddress?.assumingMemoryBound(to: UInt8.self)
                )
            }
            count = publicKeyByteCount
        }
    }

    /// Nil for a peer that is no public key, and for one that would make the secret known (RFC 7748, 6.1).
    private static func agreed(
        _ privateKey: UnsafeRawBufferPointer,
        with peer: [UInt8],
        share: [UInt8],
        _ publicKey: [UInt8]
    ) -> Key? {
        guard peer.count == publicKeyByteCount else { return nil }
        var isAgreed = false
        let secret = unsafe SecretBytes(octetCount: Key.byteCount) { secret in
            isAgreed =
                LockedStack.wiping {
                    unsafe CCryptoBoringSSL_X25519(
                        secret.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        privateKey.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        peer
                    )
                } == 1
        }
        guard isAgreed else { return nil }
        return unsafe secret.withUnsafeBytes {
            unsafe KeyDerivation.derive("passcode constraint", from: $0, salt: share + publicKey)
        }
    }
}
