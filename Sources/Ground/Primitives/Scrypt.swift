internal import CCryptoBoringSSL

/// scrypt (RFC 7914), on the calling thread and its stack, which the caller locks and wipes.
///
/// The library wipes its working memory, 128 · N · r bytes, when it frees it.
public enum Scrypt {
    /// Fills `room` with what is derived from `password`.
    ///
    /// - Parameters:
    ///   - password: what is derived from.
    ///   - salt: a value of its own for each password.
    ///   - roundsExponent: the base-2 logarithm of N; the caller bounds the memory that it and `blockSize` take.
    ///   - blockSize: r.
    ///   - parallelism: p.
    ///   - room: where the derived bytes go.
    public static func derive(
        from password: UnsafeRawBufferPointer,
        salt: [UInt8],
        roundsExponent: Int,
        blockSize: Int,
        parallelism: Int,
        into room: UnsafeMutableRawBufferPointer
    ) {
        // The library takes no null for an empty text.
        let nothing: [UInt8] = [0]
        let isDerived = unsafe nothing.withUnsafeBytes { nothing in
            let text = unsafe password.baseAddress ?? nothing.baseAddress
            return unsafe CCryptoBoringSSL_EVP_PBE_scrypt(
                text?.assumingMemoryBound(to: CChar.self),
                password.count,
                salt,
                salt.count,
                1 << UInt64(roundsExponent),
                UInt64(blockSize),
                UInt64(parallelism),
                // The library's own limit is for parameters that nobody checked.
                Int.max,
                room.baseAddress?.assumingMemoryBound(to: UInt8.self),
                room.count
            )
        }
        // So only memory can be missing.
        guard isDerived == 1 else { fatalError("touchstone: no memory for scrypt (\(roundsExponent))") }
    }
}
