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

    /// The start of a TPMS_ATTEST of a type (Part 2, section 10.12.12), up to what it attests.
    ///
    /// - Returns: `extraData`. TPMS_CLOCK_INFO (17) and the firmware version (8) are ignored, as in WebAuthn, section 8.3.
    mutating func attestHead(_ type: UInt16) throws(TPMStructureError) -> [UInt8] {
        // TPM_GENERATED_VALUE.
        guard try number(UInt32.self) == 0xFF54_4347, try number(UInt16.self) == type else {
            throw TPMStructureError()
        }
        _ = try sized()
        let extraData = try sized()
        _ = try octets(25)
        return extraData
    }
}

/// A structure is truncated, or contains an unsupported value.
public struct TPMStructureError: Error {}
