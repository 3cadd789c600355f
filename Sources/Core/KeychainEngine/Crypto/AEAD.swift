internal import CCryptoBoringSSL
internal import CLinux
internal import KeychainModel
internal import SecretMemory

/// AES-256-GCM, as everything at rest is sealed: nonce (12 random bytes), ciphertext and tag (16) in one piece.
///
/// Calls the BoringSSL that swift-crypto brings, and not `AES.GCM`: that expands the key and makes six copies for
/// each message, four times the work of opening an item, and leaves plaintext and round keys in ordinary memory.
enum AEAD {
    static let nonceByteCount = 12
    static let tagByteCount = 16
    /// What sealing adds.
    static let overheadByteCount = nonceByteCount + tagByteCount

    /// The bytes were not sealed with this key and these associated data; nothing else is ever told.
    struct NotAuthentic: Error {}

    /// Seals `plaintext`, with a nonce from `random`.
    static func seal(
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

    /// Seals `plaintext` alone, with a nonce drawn for it.
    static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        with key: AEADKey,
        authenticating context: [UInt8]
    ) -> [UInt8] {
        var random = RandomSupply()
        return unsafe seal(plaintext, with: key, authenticating: context, &random)
    }

    /// Seals a key's bytes, with a nonce from `random`.
    static func seal(
        _ key: Key,
        with wrapping: AEADKey,
        authenticating context: [UInt8],
        _ random: inout RandomSupply
    ) -> [UInt8] {
        LockedStack.wiping {
            unsafe key.withUnsafeBytes { unsafe seal($0, with: wrapping, authenticating: context, &random) }
        }
    }

    /// Seals a key's bytes, with a nonce drawn for them.
    static func seal(_ key: Key, with wrapping: AEADKey, authenticating context: [UInt8]) -> [UInt8] {
        var random = RandomSupply()
        return seal(key, with: wrapping, authenticating: context, &random)
    }

    /// How many bytes opening gives.
    static func plaintextByteCount(of sealed: UnsafeRawBufferPointer) throws(NotAuthentic) -> Int {
        guard sealed.count >= overheadByteCount else { throw NotAuthentic() }
        return sealed.count - overheadByteCount
    }

    /// Opens `sealed` into `plaintext`, which has room for all of it; zeros when it is not authentic.
    static func open(
        _ sealed: UnsafeRawBufferPointer,
        with key: AEADKey,
        authenticating context: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer
    ) throws(NotAuthentic) {
        guard try unsafe plaintextByteCount(of: sealed) == plaintext.count else { throw NotAuthentic() }
        guard unsafe key.open(sealed, into: plaintext, authenticating: context) else { throw NotAuthentic() }
    }

    /// Opens `sealed` and lends the plaintext, which is wiped when `body` is done.
    static func open<R>(
        _ sealed: UnsafeRawBufferPointer,
        with key: AEADKey,
        authenticating context: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
        let count = try unsafe plaintextByteCount(of: sealed)
        return try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { plaintext in
            defer { unsafe clinux_wipe(plaintext.baseAddress, plaintext.count) }
            try unsafe open(sealed, with: key, authenticating: context, into: plaintext)
            return try unsafe body(UnsafeRawBufferPointer(plaintext))
        }
    }

    /// ``open(_:with:authenticating:_:)-(UnsafeRawBufferPointer,_,_,_)`` for what is not read in place.
    static func open<R>(
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
    static func openKey(
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

    /// ``openKey(_:with:authenticating:)-(UnsafeRawBufferPointer,_,_)`` for what is not read in place.
    static func openKey(
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

/// A key made ready for AES-256-GCM: its round keys are as secret as itself, and lie in locked memory as it does.
final class AEADKey: Sendable {
    /// An `EVP_AEAD_CTX`, which no call changes once it is made.
    private let context: SecretBytes

    /// Expands 32 bytes.
    init(_ key: UnsafeRawBufferPointer) {
        context = unsafe SecretBytes(octetCount: Self.contextByteCount) { context in
            LockedStack.wiping { unsafe Self.expand(key, into: context) }
        }
    }

    fileprivate static let contextByteCount = unsafe MemoryLayout<EVP_AEAD_CTX>.size

    /// Makes an `EVP_AEAD_CTX` of 32 bytes.
    fileprivate static func expand(
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
    fileprivate func seal(
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
        // Sealing has no input that can be refused: there is room, and less than 2^36 bytes.
        guard isSealed == 1, count == sealed.count else { fatalError("touchstone: AES-GCM failed to seal") }
    }

    fileprivate func open(
        _ sealed: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer
    ) -> Bool {
        unsafe context.withUnsafeBytes { context in
            unsafe Self.open(sealed, into: plaintext, authenticating: associated, context)
        }
    }

    /// Opens with an `EVP_AEAD_CTX`.
    fileprivate static func open(
        _ sealed: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer,
        _ context: UnsafeRawBufferPointer
    ) -> Bool {
        defer { clinux_wipe_vector_registers() }
        // The library wants a place to write to even where nothing is written.
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

/// A place for keys that open one thing each, one after the other, as a list's items do.
///
/// The key at hand and its round keys lie in locked memory, which is wiped before the next ones come.
final class AEADKeyPlace {
    private static let expansionDepth = 2 * 1024

    private var key = SecretBuffer(minimumCapacity: Key.byteCount)
    private var context = SecretBuffer(minimumCapacity: AEADKey.contextByteCount)

    /// Opens a sealed key into this place.
    func take(
        _ sealed: UnsafeRawBufferPointer,
        with wrapping: AEADKey,
        authenticating associated: UnsafeRawBufferPointer
    ) throws(AEAD.NotAuthentic) {
        key.removeAll(keepingCapacity: true)
        _ = try unsafe key.append(upTo: Key.byteCount) { (room) throws(AEAD.NotAuthentic) in
            try unsafe AEAD.open(sealed, with: wrapping, authenticating: associated, into: room)
            return Key.byteCount
        }
        unsafe key.withUnsafeBytes { unsafe expand($0) }
    }

    /// Wipes the key at hand.
    func clear() {
        key.removeAll(keepingCapacity: true)
        context.removeAll(keepingCapacity: true)
    }

    /// Copies a key into this place.
    func take(_ key: Key) {
        unsafe key.withUnsafeBytes { unsafe expand($0) }
    }

    private func expand(_ key: UnsafeRawBufferPointer) {
        context.removeAll(keepingCapacity: true)
        // A list makes one for each item: only as deep as the library's expansion goes.
        defer { clinux_wipe_stack(Self.expansionDepth) }
        _ = unsafe context.append(upTo: AEADKey.contextByteCount) { room in
            unsafe AEADKey.expand(key, into: room)
            return AEADKey.contextByteCount
        }
    }

    /// Opens `sealed` with the key at hand into `plaintext`, which has room for all of it.
    func open(
        _ sealed: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer
    ) throws(AEAD.NotAuthentic) {
        guard try unsafe AEAD.plaintextByteCount(of: sealed) == plaintext.count else {
            throw AEAD.NotAuthentic()
        }
        let isAuthentic = unsafe context.withUnsafeBytes { context in
            unsafe AEADKey.open(sealed, into: plaintext, authenticating: associated, context)
        }
        guard isAuthentic else { throw AEAD.NotAuthentic() }
    }
}
