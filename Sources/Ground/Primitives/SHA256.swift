internal import CCryptoBoringSSL
public import SecretMemory

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
    /// The size of a digest.
    public static let byteCount = 32

    /// The digest of public data.
    public static func digest(of octets: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
            _ = unsafe CCryptoBoringSSL_SHA256(octets, octets.count, digest.baseAddress)
            count = byteCount
        }
    }

    /// The first 16 bytes of the digest of public data.
    public static func half(of octets: UnsafeRawBufferPointer) -> SIMD16<UInt8> {
        unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 16) { digest in
            let place = unsafe digest.baseAddress.unsafelyUnwrapped
            _ = unsafe CCryptoBoringSSL_SHA256(
                octets.baseAddress?.assumingMemoryBound(to: UInt8.self),
                octets.count,
                place.assumingMemoryBound(to: UInt8.self)
            )
            return unsafe place.load(as: SIMD16<UInt8>.self)
        }
    }

    /// The digest of secret data; the secret could be guessed from it.
    ///
    /// The hash state is kept in locked memory, and the stack used is wiped.
    public static func digest(ofSecret octets: Span<UInt8>) -> SecretBytes {
        unsafe octets.withUnsafeBytes { unsafe digest(ofSecret: $0) }
    }

    static func digest(ofSecret octets: UnsafeRawBufferPointer) -> SecretBytes {
        unsafe SecretBytes(octetCount: byteCount) { digest in
            LockedStack.wiping {
                _ = unsafe SecretBytes(octetCount: MemoryLayout<SHA256_CTX>.size) { state in
                    let state = unsafe state.baseAddress.unsafelyUnwrapped.assumingMemoryBound(
                        to: SHA256_CTX.self
                    )
                    unsafe CCryptoBoringSSL_SHA256_Init(state)
                    unsafe CCryptoBoringSSL_SHA256_Update(state, octets.baseAddress, octets.count)
                    unsafe CCryptoBoringSSL_SHA256_Final(
                        digest.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self),
                        state
                    )
                }
            }
        }
    }
}
