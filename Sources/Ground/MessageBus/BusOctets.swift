package import SecretMemory

/// Bytes of a message, in memory that is locked and wiped: they may be a secret.
package final class BusOctets: Hashable, Sendable {
    /// The bytes.
    package let secret: SecretBytes

    /// Takes over bytes.
    package init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Copies bytes that are no secret.
    ///
    /// - Throws: ``SecretMemoryError`` where memory cannot be locked.
    package convenience init(copying octets: some Sequence<UInt8>) throws(SecretMemoryError) {
        let octets = Array(octets)
        self.init(try SecretBytes(lockedCopy: octets.span))
    }

    /// A copy in ordinary memory, of bytes that are no secret.
    package var plain: [UInt8] {
        secret.withOctets { octets in octets.indices.map { octets[$0] } }
    }

    /// Compares the bytes, in a time that depends on their number only.
    package static func == (left: BusOctets, right: BusOctets) -> Bool {
        left.secret.withOctets { left in right.secret.withOctets { ConstantTime.areEqual(left, $0) } }
    }

    /// Hashes the number of bytes: a secret stays where it is.
    package func hash(into hasher: inout Hasher) { hasher.combine(secret.count) }
}
