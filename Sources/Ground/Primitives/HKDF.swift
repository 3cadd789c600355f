internal import CCryptoBoringSSL
internal import SecretMemory

/// HKDF-SHA256 (RFC 5869).
public enum HKDF {
    /// Fills `room` with bytes derived from `secret`, at most 255 digests.
    public static func derive(
        from secret: UnsafeRawBufferPointer,
        salt: [UInt8],
        info: [UInt8],
        into room: UnsafeMutableRawBufferPointer
    ) {
        precondition(room.count <= 255 * SHA256.byteCount, "HKDF derives at most 255 digests")
        let isDerived = LockedStack.wiping {
            unsafe CCryptoBoringSSL_HKDF(
                room.baseAddress?.assumingMemoryBound(to: UInt8.self),
                room.count,
                CCryptoBoringSSL_EVP_sha256(),
                secret.baseAddress?.assumingMemoryBound(to: UInt8.self),
                secret.count,
                salt,
                salt.count,
                info,
                info.count
            )
        }
        // Fails only for lack of memory.
        guard isDerived == 1 else { fatalError("touchstone: no memory for HKDF") }
    }
}
