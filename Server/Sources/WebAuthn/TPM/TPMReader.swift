/// Parses the big-endian structures of TPM 2.0, Part 2; every read is bounds-checked.
struct TPMReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func octets(_ count: Int) throws(TPMStructureError) -> [UInt8] {
        guard rest.count >= count else { throw TPMStructureError() }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func number<N: FixedWidthInteger>(_ type: N.Type = N.self) throws(TPMStructureError) -> N {
        try octets(N.bitWidth / 8).reduce(0) { $0 << 8 | N(truncatingIfNeeded: $1) }
    }

    /// A TPM2B: its size in two bytes, then the bytes.
    mutating func sized() throws(TPMStructureError) -> [UInt8] {
        try octets(Int(try number(UInt16.self)))
    }
}

/// A structure is truncated, or contains an unsupported value.
public struct TPMStructureError: Error {}
