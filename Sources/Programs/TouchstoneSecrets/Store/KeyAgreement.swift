import Crypto
import ModularArithmetic
import SecretMemory

/// One end's part of `dh-ietf1024-sha256-aes128-cbc-pkcs7`: a Diffie-Hellman agreement on the key of a session.
struct KeyAgreement: ~Copyable {
    /// The second group of Oakley: 1024 bits (RFC 2409, section 6.2).
    private static let prime: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC9, 0x0F, 0xDA, 0xA2, 0x21, 0x68, 0xC2, 0x34,
        0xC4, 0xC6, 0x62, 0x8B, 0x80, 0xDC, 0x1C, 0xD1, 0x29, 0x02, 0x4E, 0x08, 0x8A, 0x67, 0xCC, 0x74,
        0x02, 0x0B, 0xBE, 0xA6, 0x3B, 0x13, 0x9B, 0x22, 0x51, 0x4A, 0x08, 0x79, 0x8E, 0x34, 0x04, 0xDD,
        0xEF, 0x95, 0x19, 0xB3, 0xCD, 0x3A, 0x43, 0x1B, 0x30, 0x2B, 0x0A, 0x6D, 0xF2, 0x5F, 0x14, 0x37,
        0x4F, 0xE1, 0x35, 0x6D, 0x6D, 0x51, 0xC2, 0x45, 0xE4, 0x85, 0xB5, 0x76, 0x62, 0x5E, 0x7E, 0xC6,
        0xF4, 0x4C, 0x42, 0xE9, 0xA6, 0x37, 0xED, 0x6B, 0x0B, 0xFF, 0x5C, 0xB6, 0xF4, 0x06, 0xB7, 0xED,
        0xEE, 0x38, 0x6B, 0xFB, 0x5A, 0x89, 0x9F, 0xA5, 0xAE, 0x9F, 0x24, 0x11, 0x7C, 0x4B, 0x1F, 0xE6,
        0x49, 0x28, 0x66, 0x51, 0xEC, 0xE6, 0x53, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    ]

    private static let keyByteCount = 16

    /// What the other end gets: 128 bytes, big-endian.
    let publicValue: [UInt8]
    private let exponent: SecretBytes

    /// Draws a number.
    init() {
        exponent = SecretBytes.random(count: 32)
        var two = [UInt8](repeating: 0, count: Self.prime.count)
        two[two.count - 1] = 2
        publicValue = Self.power(two, exponent) ?? two
    }

    /// The key on which both ends agree.
    ///
    /// - Parameter theirs: the other end's public value, big-endian, at most 128 bytes.
    /// - Returns: 16 bytes.
    /// - Throws: ``BusFault``: invalid arguments for a value that hides nothing.
    func key(with theirs: [UInt8]) throws(BusFault) -> SymmetricKey {
        let value = Array(theirs.drop { $0 == 0 })
        let count = Self.prime.count
        guard theirs.count <= count else {
            throw .invalidArguments("a public value of more than \(count) bytes")
        }
        var last = Self.prime
        last[count - 1] -= 1
        let padded = [UInt8](repeating: 0, count: count - value.count) + value
        // 0, 1 and prime - 1 make a secret that everybody knows.
        guard value.count > 1 || (value.first ?? 0) > 1, padded != last else {
            throw .invalidArguments("a public value that hides nothing")
        }
        guard var shared = Self.power(padded, exponent) else {
            throw .invalidArguments("a public value that is not below the prime")
        }
        defer { wipe(&shared) }
        // No salt and no info.
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: shared),
            outputByteCount: Self.keyByteCount
        )
    }

    /// `base` to the power of a number, modulo the prime; nil if it is not below that.
    private static func power(_ base: [UInt8], _ exponent: borrowing SecretBytes) -> [UInt8]? {
        // An odd number has its modulus.
        guard let modulus = MontgomeryModulus(prime) else { return nil }
        var copy = exponent.withOctets { octets in octets.indices.map { octets[$0] } }
        defer { wipe(&copy) }
        return modulus.raise(base, to: copy)
    }
}
