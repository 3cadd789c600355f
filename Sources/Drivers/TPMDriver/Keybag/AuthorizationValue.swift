internal import CCryptoBoringSSL
import SecretMemory

/// Authorisation values derived from a keybag's authorisation, one for each entity of the chip.
///
/// The library keeps the last one behind the key of each session until that authorises something else, and cannot
/// be told to wipe it; it is good for one entity of one chip, and tells nothing of what it was derived from.
enum AuthorizationValue {
    /// HKDF-SHA256 (RFC 5869) with a label for each use.
    ///
    /// Calls the BoringSSL that swift-crypto brings: `HKDF` of swift-crypto leaves what it derives from on the heap, in the
    /// last block of a hash. What the library leaves on the stack is wiped.
    ///
    /// The chip ignores zeros at the end of a value (Part 1, "authValue"); the last byte is made odd, so that there
    /// are none.
    static func derive(_ label: String, from authorization: borrowing SecretBytes) -> SecretBytes {
        let info = Array("touchstone 1 tpm \(label)".utf8)
        return unsafe SecretBytes(octetCount: 32) { value in
            let octets = unsafe value.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
            let isDerived = unsafe authorization.withUnsafeBytes { authorization in
                LockedStack.wiping {
                    unsafe CCryptoBoringSSL_HKDF(
                        octets,
                        32,
                        CCryptoBoringSSL_EVP_sha256(),
                        authorization.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        authorization.count,
                        nil,
                        0,
                        info,
                        info.count
                    )
                }
            }
            // 32 bytes are fewer than 255 digests: memory alone can be missing.
            guard isDerived == 1 else { fatalError("touchstone: no memory for HKDF") }
            unsafe octets[31] |= 1
        }
    }
}
