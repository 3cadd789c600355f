/// The rows by name: a look-up by name needs no index, and a name that is missing here has no row.
///
/// Names are represented by their digests (``LookupDigests/name``); two names may have the same digest, and the row
/// itself decides.
struct RowsByName {
    private var first: [UInt64: Int64] = [:]
    /// The rows of names that have more than one, in ascending order.
    private var several: [UInt64: [Int64]] = [:]

    /// The rows of a name, in ascending order.
    subscript(name: [UInt8]) -> [Int64] {
        let name = Self.number(name)
        guard let row = first[name] else { return [] }
        return several[name] ?? [row]
    }

    mutating func insert(_ row: Int64, _ name: UInt64) {
        guard let former = first[name] else {
            first[name] = row
            return
        }
        var rows = several[name] ?? [former]
        rows.insert(row, at: rows.firstIndex { $0 > row } ?? rows.endIndex)
        first[name] = rows[0]
        several[name] = rows
    }

    mutating func remove(_ row: Int64, _ name: UInt64) {
        guard let rows = several[name] else {
            if first[name] == row { first[name] = nil }
            return
        }
        let rest = rows.filter { $0 != row }
        first[name] = rest.first
        several[name] = rest.count > 1 ? rest : nil
    }

    mutating func reserve(_ count: Int) { first.reserveCapacity(count) }

    static func number(_ name: [UInt8]) -> UInt64 {
        unsafe name.withUnsafeBytes { unsafe number($0) }
    }

    static func number(_ name: UnsafeRawBufferPointer) -> UInt64 {
        guard name.count >= 8 else { return 0 }
        return unsafe name.loadUnaligned(as: UInt64.self)
    }
}
