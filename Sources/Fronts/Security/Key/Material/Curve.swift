import Crypto
import Foundation

/// The elliptic curves, by their size in bits (FIPS 186-4, D.1.2).
package enum Curve: Int, Sendable {
    /// NIST P-256, secp256r1.
    case p256 = 256
    /// NIST P-384, secp384r1.
    case p384 = 384
    /// NIST P-521, secp521r1.
    case p521 = 521

    /// The length of a coordinate or scalar, in bytes.
    var coordinateByteCount: Int { (rawValue + 7) / 8 }

    /// The length of a public key, in bytes: the byte 4, x and y (X9.63).
    var publicKeyByteCount: Int { 1 + 2 * coordinateByteCount }

    /// The curve of a key that consists of one byte and `parts` numbers of equal length.
    init?(octetCount: Int, parts: Int) {
        switch octetCount {
        case 1 + parts * 32: self = .p256
        case 1 + parts * 48: self = .p384
        case 1 + parts * 66: self = .p521
        default: return nil
        }
    }
}

/// A digest made by the app; swift-crypto has digest types only for digests that it makes itself.
struct ForeignDigest: Digest {
    static var byteCount: Int { 0 }

    private let octets: [UInt8]

    init(_ octets: [UInt8]) { self.octets = octets }

    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try octets.withUnsafeBytes(body)
    }

    func makeIterator() -> IndexingIterator<[UInt8]> { octets.makeIterator() }
}
