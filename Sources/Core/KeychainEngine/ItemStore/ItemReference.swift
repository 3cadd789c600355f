internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Permanent references of items: 8 random bytes, and the row number masked with a keyed digest of them.
///
/// So a reference leads to its row without an index, which would cost each change two pages of the file, and does not
/// reveal the number. The sealed row is authoritative: a forged reference finds nothing.
enum ItemReference {
    /// The random bytes of a reference.
    static let randomByteCount = 8

    /// Makes a new reference to a row.
    static func make(_ row: Int64, _ digester: LookupDigester, _ random: inout RandomSupply) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: randomByteCount)
        unsafe octets.withUnsafeMutableBytes { unsafe random.fill($0) }
        let hidden = UInt64(bitPattern: row) ^ digester.mask(octets)
        unsafe withUnsafeBytes(of: hidden.bigEndian) { unsafe octets.append(contentsOf: $0) }
        return octets
    }

    /// The row that a reference may belong to.
    static func row(_ reference: PersistentReference, _ digester: LookupDigester) -> Int64 {
        let hidden = reference.octets.dropFirst(randomByteCount).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(bitPattern: hidden ^ digester.mask(Array(reference.octets.prefix(randomByteCount))))
    }
}
