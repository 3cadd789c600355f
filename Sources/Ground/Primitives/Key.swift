public import SecretMemory

/// A key in locked memory, wiped when released and shared by reference; 256 bits unless stated otherwise.
public final class Key: Sendable {
    /// The size of an AES-256 key, and of all keys generated here.
    public static let byteCount = 32

    @usableFromInline internal let secret: SecretBytes

    /// Takes over the key's bytes.
    public init(_ secret: consuming SecretBytes) {
        self.secret = secret
    }

    /// A new key from the kernel's random number generator.
    public static func random() -> Key {
        Key(SecretBytes.random(count: byteCount))
    }

    /// A new key from random bytes drawn earlier.
    public init(from random: inout RandomSupply) {
        secret = unsafe SecretBytes(octetCount: Self.byteCount) { unsafe random.fill($0) }
    }

    /// Lends the bytes for the duration of `body`.
    @inlinable
    public func withUnsafeBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try unsafe secret.withUnsafeBytes(body)
    }

    /// Lends the bytes for the duration of `body`; the span cannot outlive the call.
    @inlinable
    public func withOctets<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }

    /// A copy of the bytes, for callers that pass a secret on.
    public func copy() -> SecretBytes { secret.copy() }

    /// The key expanded for sealing and opening.
    public var symmetric: AEADKey { unsafe secret.withUnsafeBytes { unsafe AEADKey($0) } }
}
