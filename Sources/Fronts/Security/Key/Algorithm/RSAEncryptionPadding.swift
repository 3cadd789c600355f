import Foundation
import KeychainModel
import SecretMemory

/// The padding of a message for RSA encryption (RFC 8017).
///
/// Decoding checks everything before it fails, with a single status, so that neither its time nor its error
/// helps padding oracle attacks (Bleichenbacher 1998, Manger 2001).
enum RSAEncryptionPadding: Equatable, Sendable {
    /// No padding: the message is the block.
    case raw
    /// RSAES-PKCS1-v1_5, section 7.2.
    case pkcs1
    /// RSAES-OAEP, section 7.1, without a label.
    case oaep(KeyHash)

    /// The maximum length of a message, in bytes; negative if not even an empty message fits.
    func room(blockByteCount: Int) -> Int {
        switch self {
        case .raw: blockByteCount
        case .pkcs1: blockByteCount - 11
        case .oaep(let hash): blockByteCount - 2 * hash.byteCount - 2
        }
    }

    /// Whether at least an empty message fits.
    func fits(blockByteCount: Int) -> Bool { room(blockByteCount: blockByteCount) >= 0 }

    /// Pads a message to a block, the input of the RSA public key operation.
    ///
    /// - Throws: `errSecParam` for too many bytes.
    func encode(_ octets: [UInt8], blockByteCount: Int) throws(KeychainError) -> [UInt8] {
        guard octets.count <= room(blockByteCount: blockByteCount) else { throw .wrongInputLength }
        switch self {
        case .raw: return [UInt8](repeating: 0, count: blockByteCount - octets.count) + octets
        case .pkcs1:
            var padding = RandomBytes.array(count: blockByteCount - octets.count - 3)
            for index in padding.indices {
                while padding[index] == 0 { padding[index] = RandomBytes.array(count: 1)[0] }
            }
            return [0, 2] + padding + [0] + octets
        case .oaep(let hash):
            let zeros = [UInt8](repeating: 0, count: room(blockByteCount: blockByteCount) - octets.count)
            var data = hash.digest([UInt8]()) + zeros + [1] + octets
            var seed = RandomBytes.array(count: hash.byteCount)
            mix(&data, with: RSASignaturePadding.mask(seed, count: data.count, hash))
            mix(&seed, with: RSASignaturePadding.mask(data, count: seed.count, hash))
            return [0] + seed + data
        }
    }

    /// Extracts the message from a block, the output of the RSA private key operation.
    ///
    /// - Throws: `errSecParam` for invalid padding.
    func decode(_ block: [UInt8]) throws(KeychainError) -> SecretBytes {
        switch self {
        case .raw: return try SecretBytes(lent: block)
        case .pkcs1:
            var fault = block[0] | (block[1] ^ 2)
            var padding = SeparatorSearch(separator: 0)
            for index in 2..<block.count { padding.look(at: block[index], index) }
            fault |= padding.fault
            // PKCS #1 requires at least eight bytes of padding.
            fault |= padding.position < 10 ? 1 : 0
            return try message(after: padding.position, in: block, fault)
        case .oaep(let hash):
            var seed = Array(block[1...hash.byteCount])
            var data = Array(block[(1 + hash.byteCount)...])
            defer {
                wipe(&seed)
                wipe(&data)
            }
            mix(&seed, with: RSASignaturePadding.mask(data, count: seed.count, hash))
            mix(&data, with: RSASignaturePadding.mask(seed, count: data.count, hash))
            var fault = block[0]
            for (found, expected) in zip(data, hash.digest([UInt8]())) { fault |= found ^ expected }
            var padding = SeparatorSearch(separator: 1)
            for index in hash.byteCount..<data.count { padding.look(at: data[index], index) }
            // All bytes before the separator must be zero.
            for index in hash.byteCount..<data.count {
                fault |= padding.isBefore(index) & data[index]
            }
            return try message(after: padding.position, in: data, fault | padding.fault)
        }
    }

    private func message(
        after position: Int,
        in octets: [UInt8],
        _ fault: UInt8
    ) throws(KeychainError) -> SecretBytes {
        guard fault == 0 else { throw .key(.param, "RSAdecrypt wrong input") }
        return try SecretBytes(lent: octets[(position + 1)...])
    }

    private func mix(_ octets: inout [UInt8], with mask: [UInt8]) {
        for index in octets.indices { octets[index] ^= mask[index] }
    }
}

/// Finds the first byte with a value, in constant time.
private struct SeparatorSearch {
    let separator: UInt8
    /// The position of the separator.
    private(set) var position = 0
    /// All ones until the separator is found.
    private var searching: Int = -1

    init(separator: UInt8) { self.separator = separator }

    mutating func look(at octet: UInt8, _ index: Int) {
        // All ones if the byte is the separator: only 0 - 1 borrows.
        let isSeparator = (Int(octet ^ separator) - 1) >> 63
        position |= index & isSeparator & searching
        searching &= ~isSeparator
    }

    /// 0 if the separator was found.
    var fault: UInt8 { UInt8(truncatingIfNeeded: searching) }

    /// All ones for an index before the separator.
    func isBefore(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: (index - position) >> 63) }
}
