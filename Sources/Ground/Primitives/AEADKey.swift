internal import CCryptoBoringSSL
internal import CLinux
internal import SecretMemory

/// A key expanded for AES-256-GCM; its round keys are as secret as the key, and are kept in locked memory as well.
public final class AEADKey: Sendable {
    /// An `EVP_AEAD_CTX`, which does not change once it is initialised.
    private let context: SecretBytes

    /// Expands a key of 32 bytes.
    public init(_ key: UnsafeRawBufferPointer) {
        context = unsafe SecretBytes(octetCount: Self.contextByteCount) { context in
            LockedStack.wiping { unsafe Self.expand(key, into: context) }
        }
    }

    static let contextByteCount = unsafe MemoryLayout<EVP_AEAD_CTX>.size

    /// Initialises an `EVP_AEAD_CTX` with a key of 32 bytes.
    static func expand(
        _ key: UnsafeRawBufferPointer,
        into context: UnsafeMutableRawBufferPointer
    ) {
        precondition(key.count == Key.byteCount, "an AES-256 key has 32 bytes")
        let made = unsafe CCryptoBoringSSL_EVP_AEAD_CTX_init(
            context.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: EVP_AEAD_CTX.self),
            CCryptoBoringSSL_EVP_aead_aes_256_gcm(),
            key.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self),
            key.count,
            AEAD.tagByteCount,
            nil
        )
        // No key of 32 bytes is refused.
        guard made == 1 else { fatalError("touchstone: AES-GCM failed to start") }
    }

    /// Writes ciphertext and tag.
    func seal(
        _ plaintext: UnsafeRawBufferPointer,
        into sealed: UnsafeMutableRawBufferPointer,
        _ nonce: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer
    ) {
        defer { clinux_wipe_vector_registers() }
        var count = 0
        let isSealed = unsafe context.withUnsafeBytes { context in
            unsafe CCryptoBoringSSL_EVP_AEAD_CTX_seal(
                context.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: EVP_AEAD_CTX.self),
                sealed.baseAddress?.assumingMemoryBound(to: UInt8.self),
                &count,
                sealed.count,
                nonce.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nonce.count,
                plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self),
                plaintext.count,
                associated.baseAddress?.assumingMemoryBound(to: UInt8.self),
                associated.count
            )
        }
        // Cannot fail: the output has room, and the input is shorter than 2^36 bytes.
        guard isSealed == 1, count == sealed.count else { fatalError("touchstone: AES-GCM failed to seal") }
    }

    func open(
        _ sealed: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer
    ) -> Bool {
        unsafe context.withUnsafeBytes { context in
            unsafe Self.open(sealed, into: plaintext, authenticating: associated, context)
        }
    }

    /// Opens with an `EVP_AEAD_CTX`.
    static func open(
        _ sealed: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer,
        _ context: UnsafeRawBufferPointer
    ) -> Bool {
        defer { clinux_wipe_vector_registers() }
        // The library needs an output pointer even for an empty plaintext.
        var nothing: UInt8 = 0
        var count = 0
        let isAuthentic = unsafe withUnsafeMutablePointer(to: &nothing) { nothing in
            let nonce = unsafe sealed.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
            return unsafe CCryptoBoringSSL_EVP_AEAD_CTX_open(
                context.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: EVP_AEAD_CTX.self),
                plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nothing,
                &count,
                plaintext.count,
                nonce,
                AEAD.nonceByteCount,
                nonce + AEAD.nonceByteCount,
                sealed.count - AEAD.nonceByteCount,
                associated.baseAddress?.assumingMemoryBound(to: UInt8.self),
                associated.count
            )
        }
        if isAuthentic != 1 { CCryptoBoringSSL_ERR_clear_error() }
        return isAuthentic == 1 && count == plaintext.count
    }
}
