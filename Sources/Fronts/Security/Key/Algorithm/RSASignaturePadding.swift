import Foundation
import KeychainModel
import SecretMemory

/// The padding of a digest for RSA signatures (RFC 8017).
enum RSASignaturePadding: Equatable, Sendable {
    /// No padding: the input is the block.
    case raw
    /// EMSA-PKCS1-v1_5, section 9.2.
    case pkcs1
    /// EMSA-PSS, section 9.1, with a salt as long as the digest.
    case pss(KeyHash)

    /// Whether a digest of `hash` fits into a block; true without a hash.
    func fits(_ hash: KeyHash?, blockByteCount: Int) -> Bool {
        switch self {
        case .raw: true
        case .pkcs1:
            hash.map { $0.digestInfoPrefix.count + $0.byteCount + 11 <= blockByteCount } ?? true
        case .pss(let hash): 2 * hash.byteCount + 2 <= blockByteCount
        }
    }

    /// Pads a digest of `hash`, or without a hash any bytes, to a block, the input of the RSA private key
    /// operation.
    ///
    /// - Throws: `errSecParam` for too many bytes.
    func encode(_ octets: [UInt8], hash: KeyHash?, sizeInBits: Int) throws(KeychainError) -> [UInt8] {
        let blockByteCount = (sizeInBits + 7) / 8
        switch self {
        case .raw:
            guard octets.count <= blockByteCount else { throw .wrongInputLength }
            return [UInt8](repeating: 0, count: blockByteCount - octets.count) + octets
        case .pkcs1:
            let content = (hash?.digestInfoPrefix ?? []) + octets
            guard content.count + 11 <= blockByteCount else { throw .wrongInputLength }
            let padding = [UInt8](repeating: 0xff, count: blockByteCount - content.count - 3)
            return [0, 1] + padding + [0] + content
        case .pss(let hash):
            let salt = RandomBytes.array(count: hash.byteCount)
            let encoded = Self.pss(octets, salt: salt, hash: hash, bitCount: sizeInBits - 1)
            return [UInt8](repeating: 0, count: blockByteCount - encoded.count) + encoded
        }
    }

    /// Whether a block, recovered from a signature, matches these bytes.
    func verify(_ block: [UInt8], _ octets: [UInt8], hash: KeyHash?, sizeInBits: Int) -> Bool {
        guard case .pss(let hash) = self else {
            // The encoding is deterministic, so encode and compare.
            return (try? encode(octets, hash: hash, sizeInBits: sizeInBits)) == block
        }
        let bitCount = sizeInBits - 1
        let byteCount = (bitCount + 7) / 8
        let encoded = Array(block.suffix(byteCount))
        guard block.count - byteCount == 0 || block[0] == 0, encoded.last == 0xbc else { return false }
        let digestStart = byteCount - hash.byteCount - 1
        let digest = Array(encoded[digestStart..<(byteCount - 1)])
        var data = zip(encoded[..<digestStart], Self.mask(digest, count: digestStart, hash)).map { $0 ^ $1 }
        data[0] &= 0xff >> (8 * byteCount - bitCount)
        let salt = Array(data.suffix(hash.byteCount))
        // With the extracted salt the encoding is deterministic, so encode and compare.
        return Self.pss(octets, salt: salt, hash: hash, bitCount: bitCount) == encoded
    }

    /// EMSA-PSS-ENCODE, section 9.1.1.
    private static func pss(_ digest: [UInt8], salt: [UInt8], hash: KeyHash, bitCount: Int) -> [UInt8] {
        let byteCount = (bitCount + 7) / 8
        let salted = hash.digest([UInt8](repeating: 0, count: 8) + digest + salt)
        let paddingByteCount = byteCount - salt.count - hash.byteCount - 2
        let data = [UInt8](repeating: 0, count: paddingByteCount) + [1] + salt
        var masked = zip(data, mask(salted, count: data.count, hash)).map { $0 ^ $1 }
        masked[0] &= 0xff >> (8 * byteCount - bitCount)
        return masked + salted + [0xbc]
    }

    /// MGF1, appendix B.2.1.
    static func mask(_ seed: [UInt8], count: Int, _ hash: KeyHash) -> [UInt8] {
        var mask: [UInt8] = []
        var counter: UInt32 = 0
        while mask.count < count {
            mask += hash.digest(seed + withUnsafeBytes(of: counter.bigEndian, Array.init))
            counter += 1
        }
        return Array(mask.prefix(count))
    }
}

extension KeychainError {
    /// `errSecParam` for an input of a wrong length.
    static let wrongInputLength = KeychainError.key(.param, "RSA wrong input data length")
}
