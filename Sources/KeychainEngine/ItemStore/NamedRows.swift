/// The first row of each name, as far as it was seen: a look-up of one item goes to its row without an index.
///
/// Hints: what the row itself says decides, and where it does not answer the index is asked. Names are their digests
/// (``LookupDigests/name``).
struct NamedRows {
    /// More are left to the index; they take 4 MiB.
    private static let most = 1 << 17

    private var rows: [UInt64: Int64] = [:]

    subscript(name: [UInt8]) -> Int64? { unsafe name.withUnsafeBytes { unsafe rows[Self.number($0)] } }

    /// Notes a row when all before it that have the name are noted, or gone.
    mutating func note(_ row: Int64, _ name: UnsafeRawBufferPointer) {
        let name = unsafe Self.number(name)
        if let first = rows[name] {
            if row < first { rows[name] = row }
        } else if rows.count < Self.most {
            rows[name] = row
        }
    }

    mutating func note(_ row: Int64, _ name: [UInt8]) {
        unsafe name.withUnsafeBytes { unsafe note(row, $0) }
    }

    mutating func forget(_ name: [UInt8]) {
        unsafe name.withUnsafeBytes { unsafe rows[Self.number($0)] = nil }
    }

    private static func number(_ name: UnsafeRawBufferPointer) -> UInt64 {
        unsafe name.loadUnaligned(as: UInt64.self)
    }
}
