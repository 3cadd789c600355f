internal import CCryptoBoringSSL
internal import SecretMemory

/// SHA-256 (FIPS 180-4) of what is secret.
///
/// Calls the BoringSSL that swift-crypto brings: `SHA256` of swift-crypto keeps the last block of the message in an
/// object on the heap, which nobody wipes.
enum SecretDigest {
    static let byteCount = 32

    /// The digest of `octets`; the state of the computation is in locked memory and on a part of the stack that is wiped.
    static func of(_ octets: Span<UInt8>) -> SecretBytes {
        unsafe SecretBytes(octetCount: byteCount) { digest in
            unsafe octets.withUnsafeBytes { octets in
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
}
