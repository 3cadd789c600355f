internal import CCryptoBoringSSL

/// scrypt (RFC 7914), on the calling thread and its stack, which the caller locks and wipes.
///
/// The library wipes its working memory, 128 · N · r bytes, when it frees it.
public enum Scrypt {
    /// Fills `room` with bytes derived from `password`.
    ///
    /// - Parameters:
    ///   - password: the input.
    ///   - salt: a different value for each password.
    ///   - roundsExponent: the base-2 logarithm of N; the caller limits the memory that N and r need.
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
        // The library does not accept a null pointer for an empty password.
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
                // The library's own memory limit is for unchecked parameters.
                Int.max,
                room.baseAddress?.assumingMemoryBound(to: UInt8.self),
                room.count
            )
        }
        // Fails only for lack of memory.
        guard isDerived == 1 else { fatalError("touchstone: no memory for scrypt (\(roundsExponent))") }
    }
}
