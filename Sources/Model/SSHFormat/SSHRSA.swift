internal import Crypto
internal import CryptoExtras

/// An RSA key that verifies signatures of PKCS #1 version 1.5 (RFC 8332, section 3).
struct SSHRSA {
    private let key: _RSA.Signing.PublicKey
    private let modulusBytes: Int

    /// Whether numbers without leading zeros may be a key.
    ///
    /// The modulus is odd and has 1024 to 16384 bits; the exponent is odd, at least 3, and no longer than the modulus.
    static func isKey(exponent: [UInt8], modulus: [UInt8]) -> Bool {
        func isOdd(_ number: [UInt8]) -> Bool { (number.last ?? 0) & 1 == 1 }
        let bits = modulus.count * 8 - (modulus.first ?? 0).leadingZeroBitCount
        return (1024...16384).contains(bits) && isOdd(modulus)
            && isOdd(exponent) && exponent != [1] && exponent.count <= modulus.count
    }

    /// Takes the numbers; throws if swift-crypto cannot use them.
    init(exponent: [UInt8], modulus: [UInt8]) throws {
        key = try _RSA.Signing.PublicKey(
            unsafeDERRepresentation: Self.subjectPublicKeyInfo(exponent: exponent, modulus: modulus)
        )
        modulusBytes = modulus.count
    }

    /// Whether a signature over a digest is by this key; some signers leave out its leading zeros.
    func isValid(_ signature: [UInt8], for digest: some Digest) -> Bool {
        guard !signature.isEmpty, signature.count <= modulusBytes else { return false }
        let padded = [UInt8](repeating: 0, count: modulusBytes - signature.count) + signature
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: padded),
            for: digest,
            padding: .insecurePKCS1v1_5
        )
    }

    /// The key in DER (RFC 3279, section 2.3.1), the one form of which swift-crypto accepts 1024 bits.
    private static func subjectPublicKeyInfo(exponent: [UInt8], modulus: [UInt8]) -> [UInt8] {
        let sequence: UInt8 = 0x30
        let rsaEncryption: [UInt8] = [
            0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let numbers = [modulus, exponent].flatMap { der(0x02, SSHWriter.integer($0)) }
        return der(sequence, der(sequence, rsaEncryption) + der(0x03, [0] + der(sequence, numbers)))
    }

    /// An element of fewer than 65,536 bytes.
    private static func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let low = UInt8(truncatingIfNeeded: content.count)
        let high = UInt8(truncatingIfNeeded: content.count >> 8)
        let length: [UInt8] =
            switch content.count {
            case ..<0x80: [low]
            case ..<0x100: [0x81, low]
            default: [0x82, high, low]
            }
        return [tag] + length + content
    }
}
