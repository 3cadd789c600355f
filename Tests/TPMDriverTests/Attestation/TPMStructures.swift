import Crypto

/// Parses TPM structures like a server: big-endian, with size prefixes (TPM 2.0 Part 2).
struct TPMReader {
    private var rest: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { rest = octets[...] }

    mutating func octets(_ count: Int) throws -> [UInt8] {
        guard rest.count >= count else { throw RelyingParty.Refusal.malformed }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func integer(octets count: Int) throws -> UInt64 {
        try octets(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func uint16() throws -> UInt16 { UInt16(try integer(octets: 2)) }

    mutating func uint32() throws -> UInt32 { UInt32(try integer(octets: 4)) }

    /// A TPM2B: its size, then that many bytes.
    mutating func sized() throws -> [UInt8] { try octets(Int(try uint16())) }

    func end() throws {
        guard rest.isEmpty else { throw RelyingParty.Refusal.malformed }
    }
}

/// TPMT_PUBLIC of an elliptic-curve or RSA key.
struct KeyArea: Equatable {
    enum Key: Equatable {
        case ecc(curve: UInt16, x: [UInt8], y: [UInt8])
        case rsa(modulus: [UInt8])
    }

    let octets: [UInt8]
    let nameAlgorithm: UInt16
    let attributes: UInt32
    let authPolicy: [UInt8]
    /// TPM_ALG_ID of the signing scheme; 0x0010 for none.
    let scheme: UInt16
    let key: Key

    init(_ octets: [UInt8]) throws {
        self.octets = octets
        var reader = TPMReader(octets)
        let type = try reader.uint16()
        nameAlgorithm = try reader.uint16()
        attributes = try reader.uint32()
        authPolicy = try reader.sized()
        if try reader.uint16() != 0x0010 { _ = try reader.octets(4) }
        scheme = try reader.uint16()
        if scheme != 0x0010 { _ = try reader.uint16() }
        switch type {
        case 0x0023:
            let curve = try reader.uint16()
            guard try reader.uint16() == 0x0010 else { throw RelyingParty.Refusal.malformed }
            key = .ecc(curve: curve, x: try reader.sized(), y: try reader.sized())
        case 0x0001:
            _ = try reader.octets(6)
            key = .rsa(modulus: try reader.sized())
        default: throw RelyingParty.Refusal.malformed
        }
        try reader.end()
    }

    /// The key's name: its algorithm, then the hash of its public area (Part 1, section 16).
    var name: [UInt8] {
        switch nameAlgorithm {
        case 0x000C: [0, 0x0C] + SHA384.hash(data: octets)
        default: [0, 0x0B] + SHA256.hash(data: octets)
        }
    }

    /// The point in uncompressed X9.63 form.
    var x963: [UInt8] {
        guard case .ecc(_, let x, let y) = key else { return [] }
        return [4] + x + y
    }
}

/// TPMS_ATTEST of type TPM_ST_ATTEST_CERTIFY.
struct CertifyStatement {
    let extraData: [UInt8]
    let name: [UInt8]

    init(_ octets: [UInt8]) throws {
        var reader = TPMReader(octets)
        guard try reader.uint32() == 0xFF54_4347, try reader.uint16() == 0x8017 else {
            throw RelyingParty.Refusal.malformed
        }
        _ = try reader.sized()
        extraData = try reader.sized()
        _ = try reader.octets(17 + 8)
        name = try reader.sized()
        _ = try reader.sized()
        try reader.end()
    }
}

/// TPMS_ATTEST of type TPM_ST_ATTEST_QUOTE, of registers of one bank.
struct QuoteStatement {
    let extraData: [UInt8]
    /// TPM_ALG_ID of the bank, and the bits of its registers.
    let bank: UInt16
    let registers: [UInt8]
    let digest: [UInt8]

    init(_ octets: [UInt8]) throws {
        var reader = TPMReader(octets)
        guard try reader.uint32() == 0xFF54_4347, try reader.uint16() == 0x8018 else {
            throw RelyingParty.Refusal.malformed
        }
        _ = try reader.sized()
        extraData = try reader.sized()
        _ = try reader.octets(17 + 8)
        guard try reader.uint32() == 1 else { throw RelyingParty.Refusal.malformed }
        bank = try reader.uint16()
        registers = try reader.octets(Int(try reader.integer(octets: 1)))
        digest = try reader.sized()
        try reader.end()
    }
}
