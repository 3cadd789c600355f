internal import CCryptoBoringSSL
internal import SecretMemory

/// X25519 (RFC 7748).
public enum X25519 {
    /// The size of a private key, a public key and a shared secret.
    public static let byteCount = 32

    /// The public key of a private key, which is any 32 bytes.
    public static func publicKey(of privateKey: UnsafeRawBufferPointer) -> [UInt8] {
        precondition(privateKey.count == byteCount, "an X25519 key has 32 bytes")
        return unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { room, count in
            LockedStack.wiping {
                unsafe CCryptoBoringSSL_X25519_public_from_private(
                    room.baseAddress,
                    privateKey.baseAddress?.assumingMemoryBound(to: UInt8.self)
                )
            }
            count = byteCount
        }
    }

    /// The shared secret of `privateKey` and a peer's public key.
    ///
    /// - Returns: nil if the peer's key has a wrong length or a low order, which would make the secret known (RFC 7748,
    ///   section 6.1).
    public static func agreement(_ privateKey: UnsafeRawBufferPointer, with peer: [UInt8]) -> Key? {
        precondition(privateKey.count == byteCount, "an X25519 key has 32 bytes")
        guard peer.count == byteCount else { return nil }
        var isAgreed = false
        let secret = unsafe SecretBytes(octetCount: byteCount) { secret in
            isAgreed =
                LockedStack.wiping {
                    unsafe CCryptoBoringSSL_X25519(
                        secret.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        privateKey.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        peer
                    )
                } == 1
        }
        return isAgreed ? Key(secret) : nil
    }
}
