internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// A reference names an item for good: 8 random bytes, and the number of its row under a keyed digest of them.
///
/// So it leads to its row without an index, which would cost each change two pages of the file, and tells nobody
/// the number. What the row itself says decides: a reference that was made up finds nothing.
enum ItemReference {
    /// The random bytes of a reference.
    static let randomByteCount = 8

    /// A new reference to a row.
    static func make(_ row: Int64, _ digester: LookupDigester, _ random: inout RandomSupply) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: randomByteCount)
        unsafe octets.withUnsafeMutableBytes { unsafe random.fill($0) }
        let hidden = UInt64(bitPattern: row) ^ digester.mask(octets)
        unsafe withUnsafeBytes(of: hidden.bigEndian) { unsafe octets.append(contentsOf: $0) }
        return octets
    }

    /// The row that a reference may name.
    static func row(_ reference: PersistentReference, _ digester: LookupDigester) -> Int64 {
        let hidden = reference.octets.dropFirst(randomByteCount).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(bitPattern: hidden ^ digester.mask(Array(reference.octets.prefix(randomByteCount))))
    }
}
