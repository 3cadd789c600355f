internal import CCryptoBoringSSL
internal import CLinux
internal import SecretMemory

/// HMAC-SHA256 (RFC 2104) with a prepared key.
///
/// The two intermediate hash states are as secret as the key, and are kept in locked memory as well.
public final class KeyedDigest: Sendable {
    /// The size of a digest.
    public static let byteCount = 32
    private static let blockByteCount = 64

    /// Two `SHA256_CTX` that have hashed the padded key: the inner and the outer state.
    let states: SecretBytes

    /// Prepares the hash states of a key.
    public init(_ key: Key) {
        states = SecretBytes(count: 2 * MemoryLayout<SHA256_CTX>.stride) { states in
            unsafe states.withUnsafeMutableBytes { states in
                let states = unsafe states.baseAddress.unsafelyUnwrapped
                unsafe key.withUnsafeBytes { key in
                    guard key.count > Self.blockByteCount else { return unsafe Self.start(states, key) }
                    let digest = unsafe SHA256.digest(ofSecret: key)
                    unsafe digest.withUnsafeBytes { unsafe Self.start(states, $0) }
                }
            }
        }
    }

    private static func start(_ states: UnsafeMutableRawPointer, _ key: UnsafeRawBufferPointer) {
        defer { clinux_wipe_stack(LockedStack.depth) }
        unsafe start(states, key, padding: 0x36)
        unsafe start(states + MemoryLayout<SHA256_CTX>.stride, key, padding: 0x5C)
    }

    private static func start(
        _ state: UnsafeMutableRawPointer,
        _ key: UnsafeRawBufferPointer,
        padding: UInt8
    ) {
        let state = unsafe state.assumingMemoryBound(to: SHA256_CTX.self)
        unsafe withUnsafeTemporaryAllocation(byteCount: blockByteCount, alignment: 8) { block in
            defer { unsafe clinux_wipe(block.baseAddress, block.count) }
            for index in 0..<blockByteCount {
                unsafe block[index] = (index < key.count ? key[index] : 0) ^ padding
            }
            unsafe CCryptoBoringSSL_SHA256_Init(state)
            unsafe CCryptoBoringSSL_SHA256_Update(state, block.baseAddress, block.count)
        }
    }

    /// The digest of `octets`, as four 64-bit words.
    public func words(of octets: UnsafeRawBufferPointer) -> SIMD4<UInt64> {
        unsafe words(of: octets, followedBy: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// The digest of `octets` and then `rest`, which need not be joined in memory.
    public func words(
        of octets: UnsafeRawBufferPointer,
        followedBy rest: UnsafeRawBufferPointer
    ) -> SIMD4<UInt64> {
        let size = MemoryLayout<SHA256_CTX>.size
        let half = MemoryLayout<SHA256_CTX>.stride
        let alignment = MemoryLayout<SHA256_CTX>.alignment
        return unsafe states.withUnsafeBytes { states in
            let states = unsafe states.baseAddress.unsafelyUnwrapped
            // Copied with `copyMemory`: assigning a value of this type leaves another copy on the stack.
            return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: alignment) { place in
                let place = unsafe place.baseAddress.unsafelyUnwrapped
                let state = unsafe place.assumingMemoryBound(to: SHA256_CTX.self)
                var digest = SIMD4<UInt64>.zero
                defer {
                    unsafe clinux_wipe(place, size)
                    clinux_wipe_vector_registers()
                }
                unsafe place.copyMemory(from: states, byteCount: size)
                unsafe CCryptoBoringSSL_SHA256_Update(state, octets.baseAddress, octets.count)
                unsafe CCryptoBoringSSL_SHA256_Update(state, rest.baseAddress, rest.count)
                unsafe withUnsafeMutableBytes(of: &digest) { digest in
                    let inner = unsafe digest.baseAddress.unsafelyUnwrapped.assumingMemoryBound(
                        to: UInt8.self
                    )
                    unsafe CCryptoBoringSSL_SHA256_Final(inner, state)
                    unsafe place.copyMemory(from: states + half, byteCount: size)
                    unsafe CCryptoBoringSSL_SHA256_Update(state, inner, digest.count)
                    unsafe CCryptoBoringSSL_SHA256_Final(inner, state)
                }
                return digest
            }
        }
    }

    /// The first `count` bytes of the digest of `octets`.
    public func prefix(_ count: Int, of octets: [UInt8]) -> [UInt8] {
        let digest = unsafe octets.withUnsafeBytes { unsafe words(of: $0) }
        return unsafe withUnsafeBytes(of: digest) { digest in
            unsafe Array(UnsafeRawBufferPointer(rebasing: digest[..<count]))
        }
    }

    /// The digest of `octets`.
    public static func of(_ octets: [UInt8], key: Key) -> [UInt8] {
        KeyedDigest(key).prefix(byteCount, of: octets)
    }

    /// Whether `digest` is that of `octets`, in constant time.
    public static func isValid(_ digest: [UInt8], of octets: [UInt8], key: Key) -> Bool {
        ConstantTime.areEqual(digest, of(octets, key: key))
    }
}
