internal import Crypto

/// The numbers of a public key.
enum SSHKeyMaterial: Hashable, Sendable {
    /// RFC 8709, section 4: the 32 bytes of the encoded point.
    case ed25519([UInt8])
    /// RFC 5656, section 3.1: a point of the curve, uncompressed.
    case ecdsa(SSHCurve, point: [UInt8])
    /// RFC 4253, section 6.6: big-endian, without leading zeros.
    case rsa(exponent: [UInt8], modulus: [UInt8])

    var algorithm: String {
        switch self {
        case .ed25519: "ssh-ed25519"
        case .ecdsa(let curve, _): curve.algorithm
        case .rsa: "ssh-rsa"
        }
    }

    var blob: [UInt8] {
        var writer = SSHWriter()
        writer.write(text: algorithm)
        switch self {
        case .ed25519(let point): writer.write(string: point)
        case .ecdsa(let curve, let point):
            writer.write(text: curve.rawValue)
            writer.write(string: point)
        case .rsa(let exponent, let modulus):
            writer.write(mpint: exponent)
            writer.write(mpint: modulus)
        }
        return writer.bytes
    }

    /// Reads the part of a blob that follows the algorithm.
    init(_ algorithm: String, from reader: inout SSHReader) throws(SSHFormatError) {
        switch algorithm {
        case "ssh-ed25519":
            let point = try reader.readString()
            guard point.count == 32 else { throw SSHFormatError() }
            self = .ed25519(point)
        case "ssh-rsa":
            let exponent = try reader.readPositive()
            let modulus = try reader.readPositive()
            guard SSHRSA.isKey(exponent: exponent, modulus: modulus) else { throw SSHFormatError() }
            self = .rsa(exponent: exponent, modulus: modulus)
        default:
            guard let curve = SSHCurve.allCases.first(where: { $0.algorithm == algorithm }),
                try reader.readText() == curve.rawValue
            else { throw SSHFormatError() }
            let point = try reader.readString()
            guard curve.contains(point) else { throw SSHFormatError() }
            self = .ecdsa(curve, point: point)
        }
    }
}

/// A curve of RFC 5656, section 10.1, by its identifier.
enum SSHCurve: String, CaseIterable, Sendable {
    case p256 = "nistp256"
    case p384 = "nistp384"
    case p521 = "nistp521"

    var algorithm: String { "ecdsa-sha2-" + rawValue }

    /// The bytes of a coordinate, and of each number of a signature.
    var coordinateBytes: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// Whether bytes are an uncompressed point of the curve, other than the one at infinity.
    func contains(_ point: [UInt8]) -> Bool {
        guard point.first == 4, point.count == 1 + 2 * coordinateBytes else { return false }
        switch self {
        case .p256: return (try? P256.Signing.PublicKey(x963Representation: point)) != nil
        case .p384: return (try? P384.Signing.PublicKey(x963Representation: point)) != nil
        case .p521: return (try? P521.Signing.PublicKey(x963Representation: point)) != nil
        }
    }
}
