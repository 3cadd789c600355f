import Crypto
import Foundation
import KeychainModel

/// The hash functions that algorithm names contain.
enum KeyHash: String, CaseIterable, Sendable {
    case sha1 = "SHA1"
    /// Only for digests made by the app: swift-crypto does not implement SHA-224.
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    /// The digest's length, in bytes.
    var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Whether the hash function is implemented here.
    var isAvailable: Bool { self != .sha224 }

    /// The digest of the concatenated parts.
    ///
    /// - Precondition: ``isAvailable``.
    func digest(_ parts: UnsafeRawBufferPointer...) -> [UInt8] {
        switch self {
        case .sha1: Self.digest(parts, Insecure.SHA1())
        case .sha224: preconditionFailure("SHA-224 is not available")
        case .sha256: Self.digest(parts, SHA256())
        case .sha384: Self.digest(parts, SHA384())
        case .sha512: Self.digest(parts, SHA512())
        }
    }

    private static func digest(_ parts: [UnsafeRawBufferPointer], _ empty: some HashFunction) -> [UInt8] {
        var hash = empty
        for part in parts { hash.update(bufferPointer: part) }
        return Array(hash.finalize())
    }

    /// The digest of bytes.
    func digest(_ octets: some ContiguousBytes) -> [UInt8] { octets.withUnsafeBytes { digest($0) } }

    /// DER of `DigestInfo` up to the digest (RFC 8017, 9.2, note 1).
    var digestInfoPrefix: [UInt8] {
        // The hash's object identifier without its last arc.
        let nist: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02]
        let identifier: [UInt8] =
            switch self {
            case .sha1: [0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a]
            case .sha224: nist + [4]
            case .sha256: nist + [1]
            case .sha384: nist + [2]
            case .sha512: nist + [3]
            }
        let algorithm = identifier + [0x05, 0x00]
        let rest = [0x30, UInt8(algorithm.count)] + algorithm + [0x04, UInt8(byteCount)]
        return [0x30, UInt8(rest.count + byteCount)] + rest
    }
}
