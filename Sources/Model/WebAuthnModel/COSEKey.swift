internal import CBOR

/// A public key in COSE's form (RFC 9052, section 7; RFC 9053, section 7), of the kinds that WebAuthn uses.
public enum COSEKey: Sendable, Equatable {
    /// ECDSA on a NIST curve: the coordinates, each as long as the curve's field.
    case ec2(algorithm: COSEAlgorithm, curve: COSECurve, x: [UInt8], y: [UInt8])
    /// EdDSA on Ed25519: 32 bytes.
    case ed25519([UInt8])
    /// RSA with PKCS#1 v1.5: modulus and exponent without leading zeros.
    case rsa(algorithm: COSEAlgorithm, n: [UInt8], e: [UInt8])

    /// The signature algorithm.
    public var algorithm: COSEAlgorithm {
        switch self {
        case .ec2(let algorithm, _, _, _), .rsa(let algorithm, _, _): algorithm
        case .ed25519: .edDSA
        }
    }

    /// Parses a key: a CBOR map with exactly the parameters of its kind.
    ///
    /// - Throws: ``COSEKeyError``.
    public init(parsing bytes: [UInt8]) throws(COSEKeyError) {
        do {
            self = try CBORReader.read(bytes, limits: .ctap2) { reader in try Self.read(&reader) }
        } catch let error as COSEKeyError {
            throw error
        } catch {
            throw .malformed
        }
    }

    /// Labels of RFC 9052, table 4, and RFC 9053, tables 19 and 20, and RFC 8230, table 4.
    private enum Label {
        static let kty: Int64 = 1
        static let alg: Int64 = 3
        static let first: Int64 = -1
        static let second: Int64 = -2
        static let third: Int64 = -3
    }

    private static func read(_ reader: inout CBORReader) throws -> COSEKey {
        var integers: [Int64: Int64] = [:]
        var strings: [Int64: [UInt8]] = [:]
        for _ in 0..<(try reader.readMapHead()) {
            let label = try reader.readInteger()
            switch try reader.peekType() {
            case .unsigned, .negative: integers[label] = try reader.readInteger()
            case .bytes: strings[label] = try reader.readBytes()
            default: throw COSEKeyError.malformed
            }
        }
        guard let kty = integers.removeValue(forKey: Label.kty) else { throw COSEKeyError.malformed }
        guard let algorithm = integers.removeValue(forKey: Label.alg).map(COSEAlgorithm.init) else {
            throw COSEKeyError.malformed
        }
        let key: COSEKey
        switch kty {
        case 1:
            guard algorithm == .edDSA else { throw COSEKeyError.unsupportedAlgorithm(algorithm) }
            guard integers.removeValue(forKey: Label.first) == COSECurve.ed25519.rawValue else {
                throw COSEKeyError.unsupportedCurve
            }
            guard let x = strings.removeValue(forKey: Label.second), x.count == 32 else {
                throw COSEKeyError.malformed
            }
            key = .ed25519(x)
        case 2:
            guard let number = integers.removeValue(forKey: Label.first),
                let curve = COSECurve(rawValue: number),
                let size = curve.fieldByteCount
            else { throw COSEKeyError.unsupportedCurve }
            guard curve == algorithm.curve else { throw COSEKeyError.unsupportedAlgorithm(algorithm) }
            guard let x = strings.removeValue(forKey: Label.second), x.count == size,
                let y = strings.removeValue(forKey: Label.third), y.count == size
            else { throw COSEKeyError.malformed }
            key = .ec2(algorithm: algorithm, curve: curve, x: x, y: y)
        case 3:
            guard algorithm == .rs256 else { throw COSEKeyError.unsupportedAlgorithm(algorithm) }
            guard let n = strings.removeValue(forKey: Label.first), let first = n.first, first != 0,
                let e = strings.removeValue(forKey: Label.second), let last = e.last, e.first != 0,
                last % 2 == 1
            else { throw COSEKeyError.malformed }
            key = .rsa(algorithm: algorithm, n: n, e: e)
        default: throw COSEKeyError.unsupportedKeyType
        }
        // WebAuthn Level 3, section 5.8.5 and section 6.5.1.1: no optional parameter, and no private key.
        guard integers.isEmpty, strings.isEmpty else { throw COSEKeyError.unexpectedParameter }
        return key
    }

    /// The canonical encoding.
    public var encoded: [UInt8] {
        var writer = CBORWriter([UInt8]())
        switch self {
        case .ec2(let algorithm, let curve, let x, let y):
            writer.writeMapHead(count: 5)
            writer.write(Label.kty)
            writer.write(2)
            writer.write(Label.alg)
            writer.write(algorithm.rawValue)
            writer.write(Label.first)
            writer.write(curve.rawValue)
            writer.write(Label.second)
            writer.write(bytes: x)
            writer.write(Label.third)
            writer.write(bytes: y)
        case .ed25519(let x):
            writer.writeMapHead(count: 4)
            writer.write(Label.kty)
            writer.write(1)
            writer.write(Label.alg)
            writer.write(COSEAlgorithm.edDSA.rawValue)
            writer.write(Label.first)
            writer.write(COSECurve.ed25519.rawValue)
            writer.write(Label.second)
            writer.write(bytes: x)
        case .rsa(let algorithm, let n, let e):
            writer.writeMapHead(count: 4)
            writer.write(Label.kty)
            writer.write(3)
            writer.write(Label.alg)
            writer.write(algorithm.rawValue)
            writer.write(Label.first)
            writer.write(bytes: n)
            writer.write(Label.second)
            writer.write(bytes: e)
        }
        return writer.finish()
    }
}

/// A signature algorithm by its number in IANA's registry "COSE Algorithms"; unknown numbers are kept.
public struct COSEAlgorithm: RawRepresentable, Sendable, Hashable {
    /// The registered number.
    public let rawValue: Int64

    /// Takes a number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// ECDSA on P-256 with SHA-256.
    public static let es256 = COSEAlgorithm(rawValue: -7)
    /// EdDSA; in WebAuthn always on Ed25519 (Level 3, section 5.8.5).
    public static let edDSA = COSEAlgorithm(rawValue: -8)
    /// ECDSA on P-384 with SHA-384.
    public static let es384 = COSEAlgorithm(rawValue: -35)
    /// ECDSA on P-521 with SHA-512.
    public static let es512 = COSEAlgorithm(rawValue: -36)
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    public static let rs256 = COSEAlgorithm(rawValue: -257)
    /// RSASSA-PKCS1-v1_5 with SHA-1: only in the attestations of old TPMs, never for a credential.
    public static let rs1 = COSEAlgorithm(rawValue: -65535)

    /// The curve that WebAuthn requires with it (Level 3, section 5.8.5); nil if there is none.
    var curve: COSECurve? {
        switch self {
        case .es256: .p256
        case .es384: .p384
        case .es512: .p521
        case .edDSA: .ed25519
        default: nil
        }
    }
}

/// A curve by its number in IANA's registry "COSE Elliptic Curves".
public enum COSECurve: Int64, Sendable {
    /// NIST P-256.
    case p256 = 1
    /// NIST P-384.
    case p384 = 2
    /// NIST P-521.
    case p521 = 3
    /// Ed25519.
    case ed25519 = 6

    /// The length of a coordinate, in bytes; nil for a key that is one string.
    var fieldByteCount: Int? {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        case .ed25519: nil
        }
    }
}

/// Why a key is refused.
public enum COSEKeyError: Error, Sendable, Equatable {
    /// It is not a CBOR map with the parameters of its kind.
    case malformed
    /// A type of key other than OKP, EC2 and RSA.
    case unsupportedKeyType
    /// A curve that WebAuthn does not use.
    case unsupportedCurve
    /// An algorithm that does not match the key, or is unknown here.
    case unsupportedAlgorithm(COSEAlgorithm)
    /// A parameter that a credential's key must not have, such as one of the private key.
    case unexpectedParameter
}
