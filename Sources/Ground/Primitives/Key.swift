public import SecretMemory

/// A key in memory that is locked and wiped, shared by those who use it; 256 bits unless its user says otherwise.
public final class Key: Sendable {
    /// The size of a key for AES-256, and of all that are made here.
    public static let byteCount = 32

    @usableFromInline internal let secret: SecretBytes

    /// Takes over the key's bytes.
    public init(_ secret: consuming SecretBytes) {
        self.secret = secret
    }

    /// A new key from the kernel's generator.
    public static func random() -> Key {
        Key(SecretBytes.random(count: byteCount))
    }

    /// A new key of bytes that were drawn before.
    public init(from random: inout RandomSupply) {
        secret = unsafe SecretBytes(octetCount: Self.byteCount) { unsafe random.fill($0) }
    }

    /// Lends the bytes for the length of `body`.
    @inlinable
    public func withUnsafeBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try unsafe secret.withUnsafeBytes(body)
    }

    /// Lends the bytes for the length of `body`; the span cannot outlive the call.
    @inlinable
    public func withOctets<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }

    /// A second owner of the bytes, for those who hand a secret on.
    public func copy() -> SecretBytes { secret.copy() }

    /// The key made ready to seal and open.
    public var symmetric: AEADKey { unsafe secret.withUnsafeBytes { unsafe AEADKey($0) } }
}
