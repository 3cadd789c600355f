internal import CLinux
internal import SecretMemory

/// AES-256-GCM (NIST SP 800-38D), with which all data at rest are sealed.
///
/// The sealed form is the nonce (12 random bytes), the ciphertext and the tag (16 bytes), concatenated.
public enum AEAD {
    /// The size of a nonce.
    public static let nonceByteCount = 12
    /// The size of a tag.
    public static let tagByteCount = 16
    /// The number of bytes that sealing adds.
    public static let overheadByteCount = nonceByteCount + tagByteCount

    /// The bytes were not sealed with this key and these associated data; no other detail is ever given.
    public struct NotAuthentic: Error {
        /// The one reason.
        public init() {}
    }

    /// Seals `plaintext`, with a nonce from `random`.
    public static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        with key: AEADKey,
        authenticating context: [UInt8],
        _ random: inout RandomSupply
    ) -> [UInt8] {
        let count = plaintext.count + overheadByteCount
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { room, initialized in
            let sealed = UnsafeMutableRawBufferPointer(room)
            let nonce = unsafe UnsafeMutableRawBufferPointer(rebasing: sealed[..<nonceByteCount])
            unsafe random.fill(nonce)
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: sealed[nonceByteCount..<count])
            unsafe context.withUnsafeBytes { context in
                unsafe key.seal(plaintext, into: rest, UnsafeRawBufferPointer(nonce), authenticating: context)
            }
            initialized = count
        }
    }

    /// Seals `plaintext` with a newly drawn nonce.
    public static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        with key: AEADKey,
        authenticating context: [UInt8]
    ) -> [UInt8] {
        var random = RandomSupply()
        return unsafe seal(plaintext, with: key, authenticating: context, &random)
    }

    /// Seals a key's bytes, with a nonce from `random`.
    public static func seal(
        _ key: Key,
        with wrapping: AEADKey,
        authenticating context: [UInt8],
        _ random: inout RandomSupply
    ) -> [UInt8] {
        LockedStack.wiping {
            unsafe key.withUnsafeBytes { unsafe seal($0, with: wrapping, authenticating: context, &random) }
        }
    }

    /// Seals a key's bytes with a newly drawn nonce.
    public static func seal(_ key: Key, with wrapping: AEADKey, authenticating context: [UInt8]) -> [UInt8] {
        var random = RandomSupply()
        return seal(key, with: wrapping, authenticating: context, &random)
    }

    /// The number of bytes of the plaintext.
    public static func plaintextByteCount(of sealed: UnsafeRawBufferPointer) throws(NotAuthentic) -> Int {
        guard sealed.count >= overheadByteCount else { throw NotAuthentic() }
        return sealed.count - overheadByteCount
    }

    /// Opens `sealed` into `plaintext`, which must have the right size; it is zeroed if `sealed` is not authentic.
    public static func open(
        _ sealed: UnsafeRawBufferPointer,
        with key: AEADKey,
        authenticating context: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer
    ) throws(NotAuthentic) {
        guard try unsafe plaintextByteCount(of: sealed) == plaintext.count else { throw NotAuthentic() }
        guard unsafe key.open(sealed, into: plaintext, authenticating: context) else { throw NotAuthentic() }
    }

    /// Opens `sealed` and lends the plaintext, which is wiped when `body` returns.
    @inlinable
    public static func open<R>(
        _ sealed: UnsafeRawBufferPointer,
        with key: AEADKey,
        authenticating context: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
        let count = try unsafe plaintextByteCount(of: sealed)
        return try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { plaintext in
            defer { unsafe wipe(plaintext) }
            try unsafe open(sealed, with: key, authenticating: context, into: plaintext)
            return try unsafe body(UnsafeRawBufferPointer(plaintext))
        }
    }

    @usableFromInline
    static func wipe(_ plaintext: UnsafeMutableRawBufferPointer) {
        unsafe clinux_wipe(plaintext.baseAddress, plaintext.count)
    }

    /// ``open(_:with:authenticating:_:)-(UnsafeRawBufferPointer,_,_,_)`` for arrays.
    @inlinable
    public static func open<R>(
        _ sealed: [UInt8],
        with key: AEADKey,
        authenticating context: [UInt8],
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
        try unsafe sealed.withUnsafeBytes { sealed in
            try unsafe context.withUnsafeBytes { context in
                try unsafe open(sealed, with: key, authenticating: context, body)
            }
        }
    }

    /// Opens a sealed key.
    public static func openKey(
        _ sealed: UnsafeRawBufferPointer,
        with wrapping: AEADKey,
        authenticating context: UnsafeRawBufferPointer
    ) throws(NotAuthentic) -> Key {
        guard try unsafe plaintextByteCount(of: sealed) == Key.byteCount else { throw NotAuthentic() }
        return Key(
            try unsafe SecretBytes(octetCount: Key.byteCount) { (octets) throws(NotAuthentic) in
                let octets = unsafe UnsafeMutableRawBufferPointer(rebasing: octets[..<Key.byteCount])
                try LockedStack.wiping { () throws(NotAuthentic) in
                    try unsafe open(sealed, with: wrapping, authenticating: context, into: octets)
                }
            }
        )
    }

    /// ``openKey(_:with:authenticating:)-(UnsafeRawBufferPointer,_,_)`` for arrays.
    public static func openKey(
        _ sealed: [UInt8],
        with wrapping: AEADKey,
        authenticating context: [UInt8]
    ) throws(NotAuthentic) -> Key {
        do {
            return try unsafe sealed.withUnsafeBytes { sealed in
                try unsafe context.withUnsafeBytes { context in
                    try unsafe openKey(sealed, with: wrapping, authenticating: context)
                }
            }
        } catch {
            throw NotAuthentic()
        }
    }
}
