internal import Crypto
internal import WebAuthnModel

/// The public area of a TPM's key: TPMT_PUBLIC (TPM 2.0 Part 2, section 12.2.4).
public struct TPMPublicArea: Sendable, Equatable {
    /// The bytes as signed.
    public let encoded: [UInt8]
    /// The hash algorithm of the key's name: TPM_ALG_ID.
    public let nameAlgorithm: UInt16
    /// The key's attributes.
    public let attributes: TPMObjectAttributes
    /// The digest of the policy that its use must satisfy; empty if there is none.
    public let authPolicy: [UInt8]
    /// The public key.
    let key: Key

    enum Key: Sendable, Equatable {
        case ec(COSECurve, x: [UInt8], y: [UInt8])
        case rsa(n: [UInt8], e: [UInt8])
    }

    /// Part 2, table 9 (TPM_ALG_ID) and table 10 (TPM_ECC_CURVE).
    private enum Number {
        static let rsa: UInt16 = 0x0001
        static let ecc: UInt16 = 0x0023
        static let null: UInt16 = 0x0010
        static let p256: UInt16 = 0x0003
        static let p384: UInt16 = 0x0004
        static let p521: UInt16 = 0x0005
        static let ecdaa: UInt16 = 0x001A
    }

    /// Parses a TPMT_PUBLIC.
    ///
    /// - Throws: ``TPMStructureError`` for an invalid structure, or an unsupported type of key or curve.
    public init(parsing bytes: [UInt8]) throws(TPMStructureError) {
        encoded = bytes
        var reader = TPMReader(bytes)
        let type = try reader.number(UInt16.self)
        nameAlgorithm = try reader.number()
        attributes = TPMObjectAttributes(rawValue: try reader.number())
        authPolicy = try reader.sized()
        // TPMT_SYM_DEF_OBJECT: null for a signing key.
        if try reader.number(UInt16.self) != Number.null { _ = try reader.octets(4) }
        // TPMT_ECC_SCHEME or TPMT_RSA_SCHEME: every scheme but null has a hash algorithm; ECDAA also has a count.
        let scheme = try reader.number(UInt16.self)
        if scheme != Number.null { _ = try reader.octets(scheme == Number.ecdaa ? 4 : 2) }
        switch type {
        case Number.ecc:
            let curve: COSECurve
            switch try reader.number(UInt16.self) {
            case Number.p256: curve = .p256
            case Number.p384: curve = .p384
            case Number.p521: curve = .p521
            default: throw TPMStructureError()
            }
            if try reader.number(UInt16.self) != Number.null { _ = try reader.octets(2) }
            let size = curve == .p256 ? 32 : curve == .p384 ? 48 : 66
            let x = try Self.padded(try reader.sized(), to: size)
            let y = try Self.padded(try reader.sized(), to: size)
            key = .ec(curve, x: x, y: y)
        case Number.rsa:
            _ = try reader.number(UInt16.self)
            // 0 means 65537.
            let exponent = try reader.number(UInt32.self)
            let number = exponent == 0 ? 65537 : exponent
            let e = stride(from: 24, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: number >> UInt32($0))
            }
            key = .rsa(n: try reader.sized(), e: Array(e.drop { $0 == 0 }))
        default: throw TPMStructureError()
        }
        guard reader.isAtEnd else { throw TPMStructureError() }
    }

    /// Restores leading zeros of a coordinate, which some chips omit.
    private static func padded(_ number: [UInt8], to count: Int) throws(TPMStructureError) -> [UInt8] {
        guard number.count <= count else { throw TPMStructureError() }
        return [UInt8](repeating: 0, count: count - number.count) + number
    }

    /// The name (Part 1, section 16): the hash algorithm's id, and the hash of the area; nil for an unsupported hash.
    public var name: [UInt8]? {
        TPMHash.digest(of: encoded, nameAlgorithm).map {
            [UInt8(nameAlgorithm >> 8), UInt8(truncatingIfNeeded: nameAlgorithm)] + $0
        }
    }

    /// The key of a P-256 or P-384 area as uncompressed X9.63; nil for others.
    public var x963Representation: [UInt8]? {
        guard case .ec(let curve, let x, let y) = key, curve != .p521 else { return nil }
        return [4] + x + y
    }

    /// The modulus and the exponent of an RSA area, big-endian; nil for others.
    public var rsaNumbers: (n: [UInt8], e: [UInt8])? {
        guard case .rsa(let n, let e) = key else { return nil }
        return (n, e)
    }

    func isKey(_ other: COSEKey) -> Bool {
        switch (key, other) {
        case (.ec(let curve, let x, let y), .ec2(_, let otherCurve, let otherX, let otherY)):
            curve == otherCurve && x == otherX && y == otherY
        case (.rsa(let n, let e), .rsa(_, let otherN, let otherE)): n == otherN && e == otherE
        default: false
        }
    }
}

/// TPMA_OBJECT (TPM 2.0 Part 2, section 8.3).
public struct TPMObjectAttributes: OptionSet, Sendable, Hashable {
    /// The 32 bits.
    public let rawValue: UInt32

    /// Creates attributes from the 32 bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// It cannot be duplicated.
    public static let fixedTPM = TPMObjectAttributes(rawValue: 1 << 1)
    /// It cannot be moved to another parent.
    public static let fixedParent = TPMObjectAttributes(rawValue: 1 << 4)
    /// The chip generated its private part.
    public static let sensitiveDataOrigin = TPMObjectAttributes(rawValue: 1 << 5)
    /// Its authorisation value suffices for user-role commands, whatever the policy says.
    public static let userWithAuth = TPMObjectAttributes(rawValue: 1 << 6)
    /// Wrong authorisations do not count for the dictionary-attack lockout.
    public static let noDA = TPMObjectAttributes(rawValue: 1 << 10)
    /// It only signs structures generated by the chip.
    public static let restricted = TPMObjectAttributes(rawValue: 1 << 16)
    /// It may decrypt, or agree on a key.
    public static let decrypt = TPMObjectAttributes(rawValue: 1 << 17)
    /// It may sign.
    public static let sign = TPMObjectAttributes(rawValue: 1 << 18)
}

/// Hashes by their TPM_ALG_ID (TPM 2.0 Part 2, table 9).
enum TPMHash {
    static let sha256: UInt16 = 0x000B

    static func digest(of bytes: [UInt8], _ algorithm: UInt16) -> [UInt8]? {
        switch algorithm {
        case 0x0004: Array(Insecure.SHA1.hash(data: bytes))
        case sha256: Array(SHA256.hash(data: bytes))
        case 0x000C: Array(SHA384.hash(data: bytes))
        case 0x000D: Array(SHA512.hash(data: bytes))
        default: nil
        }
    }

    /// The hash of a signature algorithm.
    static func digest(of bytes: [UInt8], _ algorithm: COSEAlgorithm) -> [UInt8]? {
        switch algorithm {
        case .rs1: digest(of: bytes, 0x0004)
        case .es256, .rs256: digest(of: bytes, sha256)
        case .es384: digest(of: bytes, 0x000C)
        case .es512: digest(of: bytes, 0x000D)
        default: nil
        }
    }
}
