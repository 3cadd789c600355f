internal import KeychainModel
internal import SecretMemory

/// A reference names an item for good: 8 random octets, and the number of its row under a keyed digest of them.
///
/// So it leads to its row without an index, which would cost each change two pages of the file, and tells nobody
/// the number. What the row itself says decides: a reference that was made up finds nothing.
enum ItemReference {
    /// A new reference to a row.
    static func make(_ row: Int64, _ digester: LookupDigester) -> [UInt8] {
        let random = RandomBytes.array(count: 8)
        return random + octets(UInt64(bitPattern: row) ^ digester.mask(random))
    }

    /// The row that a reference may name.
    static func row(_ reference: PersistentReference, _ digester: LookupDigester) -> Int64 {
        let hidden = reference.octets.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(bitPattern: hidden ^ digester.mask(Array(reference.octets.prefix(8))))
    }

    private static func octets(_ number: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }
}
