internal import SecretMemory

/// A 256-bit key in memory that is locked and wiped, shared by those who use it.
final class Key: Sendable {
    static let byteCount = 32

    private let secret: SecretBytes

    /// Takes over the key's bytes.
    init(_ secret: consuming SecretBytes) {
        self.secret = secret
    }

    /// A new key from the kernel's generator.
    static func random() -> Key {
        Key(SecretBytes.random(count: byteCount))
    }

    /// A new key of bytes that were drawn before.
    init(from random: inout RandomSupply) {
        secret = unsafe SecretBytes(octetCount: Self.byteCount) { unsafe random.fill($0) }
    }

    /// Lends the bytes for the length of `body`.
    func withUnsafeBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try unsafe secret.withUnsafeBytes(body)
    }

    /// Lends the bytes for the length of `body`; the span cannot outlive the call.
    func withOctets<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }

    /// A second owner of the bytes, for those who hand a secret on.
    func copy() -> SecretBytes { secret.copy() }

    /// The key made ready to seal and open.
    var symmetric: AEADKey { unsafe secret.withUnsafeBytes { unsafe AEADKey($0) } }
}
