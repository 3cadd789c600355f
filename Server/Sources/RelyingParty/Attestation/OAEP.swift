internal import Crypto
internal import ModularArithmetic

/// RSAES-OAEP with SHA-256 and a label (RFC 8017, section 7.1.1); swift-crypto only offers it without labels.
enum OAEP {
    /// Why encryption failed.
    enum Failure: Error {
        /// The modulus is even, or too short for the message.
        case modulus
    }

    private static let hashByteCount = 32

    /// Encrypts a message.
    ///
    /// - Parameters:
    ///   - message: at most the modulus's size in bytes less 66.
    ///   - label: the label without its terminating zero, which is added as TPMs do (TPM 2.0 Part 1, annex B.4).
    ///   - n: the modulus, big-endian.
    ///   - e: the exponent, big-endian.
    ///   - seed: 32 random bytes; nil to generate them.
    /// - Returns: the ciphertext, as long as the modulus.
    /// - Throws: ``Failure``.
    static func encrypt(
        _ message: [UInt8],
        label: String,
        n: [UInt8],
        e: [UInt8],
        seed: [UInt8]? = nil
    ) throws(Failure) -> [UInt8] {
        let n = Array(n.drop { $0 == 0 })
        guard let modulus = MontgomeryModulus(n), n.count >= message.count + 2 * hashByteCount + 2 else {
            throw .modulus
        }
        let block = padded(message, label: label, count: n.count, seed: seed ?? random())
        // The first byte of the block is 0, so its value is less than any modulus of its length.
        guard let encrypted = modulus.raise(block, to: e) else { throw .modulus }
        return encrypted
    }

    /// EM of section 7.1.1, step 2.
    private static func padded(_ message: [UInt8], label: String, count: Int, seed: [UInt8]) -> [UInt8] {
        let labelHash = Array(SHA256.hash(data: Array(label.utf8) + [0]))
        let zeros = [UInt8](repeating: 0, count: count - message.count - 2 * hashByteCount - 2)
        let block = labelHash + zeros + [1] + message
        let maskedBlock = zip(block, mask(seed, count: block.count)).map { $0 ^ $1 }
        let maskedSeed = zip(seed, mask(maskedBlock, count: hashByteCount)).map { $0 ^ $1 }
        return [0] + maskedSeed + maskedBlock
    }

    /// MGF1 with SHA-256 (RFC 8017, annex B.2.1).
    private static func mask(_ seed: [UInt8], count: Int) -> [UInt8] {
        var mask: [UInt8] = []
        var counter: UInt8 = 0
        while mask.count < count {
            mask += SHA256.hash(data: seed + [0, 0, 0, counter])
            counter += 1
        }
        return Array(mask.prefix(count))
    }

    private static func random() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }
}
