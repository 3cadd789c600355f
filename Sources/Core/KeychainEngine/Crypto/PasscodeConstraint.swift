internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// X25519 between a fresh key and the keybag's passcode key.
///
/// Adding an item that is constrained to the passcode needs only the public key; opening it needs the private key,
/// which only the passcode opens.
enum PasscodeConstraint {
    static let publicKeyByteCount = X25519.byteCount

    /// A new key pair for a keybag.
    static func makePair() -> (publicKey: [UInt8], privateKey: Key) {
        let secret = Key.random()
        return (publicKey(of: secret), secret)
    }

    /// The public key of a keybag's private key.
    static func publicKey(of privateKey: Key) -> [UInt8] {
        unsafe privateKey.withUnsafeBytes { unsafe X25519.publicKey(of: $0) }
    }

    /// The public key of `privateKey`; nil if that is not a valid private key.
    static func publicKey(of privateKey: PasscodeKey) -> [UInt8]? {
        privateKey.withOctets { octets in
            unsafe octets.withUnsafeBytes { octets in
                octets.count == Key.byteCount ? unsafe X25519.publicKey(of: octets) : nil
            }
        }
    }

    /// A fresh public key (the share), and the key that it agrees on with `publicKey`; nil if that is not a valid
    /// public key.
    static func encapsulate(to publicKey: [UInt8]) -> (share: [UInt8], key: Key)? {
        let fresh = makePair()
        let key = unsafe fresh.privateKey.withUnsafeBytes {
            unsafe agreed($0, with: publicKey, share: fresh.publicKey, publicKey)
        }
        return key.map { (fresh.publicKey, $0) }
    }

    /// The key that `privateKey` agrees on with a share; nil if either is invalid.
    static func decapsulate(_ share: [UInt8], with privateKey: PasscodeKey) -> Key? {
        privateKey.withOctets { octets in
            unsafe octets.withUnsafeBytes { octets in
                guard octets.count == Key.byteCount else { return nil }
                return unsafe agreed(octets, with: share, share: share, X25519.publicKey(of: octets))
            }
        }
    }

    /// Nil if `peer` is not a valid public key.
    private static func agreed(
        _ privateKey: UnsafeRawBufferPointer,
        with peer: [UInt8],
        share: [UInt8],
        _ publicKey: [UInt8]
    ) -> Key? {
        unsafe X25519.agreement(privateKey, with: peer).map { secret in
            KeyDerivation.derive(.passcodeConstraint, from: [secret], salt: share + publicKey)
        }
    }
}
