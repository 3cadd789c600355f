/// The expected output of each operation for a published input.
public struct KnownAnswers: Sendable {
    /// The operations of this target.
    public enum Operation: String, Sendable, CaseIterable {
        /// Sealing, opening, and rejecting modified data.
        case aes256GCM = "AES-256-GCM"
        /// A digest.
        case sha256 = "SHA-256"
        /// A keyed digest.
        case hmac = "HMAC-SHA256"
        /// Deriving keys from a key.
        case hkdf = "HKDF-SHA256"
        /// Deriving a key from a passcode.
        case scrypt
        /// Agreeing on a key.
        case x25519 = "X25519"
    }

    private var answers: [Operation: [UInt8]]

    /// The expected output of an operation.
    public subscript(operation: Operation) -> [UInt8] {
        get { answers[operation, default: []] }
        set { answers[operation] = newValue }
    }

    /// The published answers; ``SelfTest`` has the inputs.
    public static let published = KnownAnswers(
        answers: [
            // McGrew, Viega: The Galois/Counter Mode of Operation, appendix B, test case 16: ciphertext and tag.
            .aes256GCM: [UInt8](
                hexadecimal: """
                    522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                    8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662\
                    76fc6ece0f4e1768cddf8853bb2d551b
                    """
            ),
            // FIPS 180-2, appendix B.2: a message of two blocks.
            .sha256: [UInt8](
                hexadecimal: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            // RFC 4231, 4.3: test case 2.
            .hmac: [UInt8](
                hexadecimal: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            // RFC 5869, A.1: test case 1.
            .hkdf: [UInt8](
                hexadecimal: """
                    3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf\
                    34007208d5b887185865
                    """
            ),
            // RFC 7914, 12: the first test vector.
            .scrypt: [UInt8](
                hexadecimal: """
                    77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442\
                    fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906
                    """
            ),
            // RFC 7748, 6.1: Alice's public key, and the secret that she and Bob share.
            .x25519: [UInt8](
                hexadecimal: """
                    8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a\
                    4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742
                    """
            ),
        ]
    )
}

extension [UInt8] {
    /// Decodes hexadecimal digits, two for each byte.
    init(hexadecimal text: String) {
        // On bytes, for speed: this runs at every start.
        let digits = text.utf8.map {
            $0 < UInt8(ascii: "a") ? $0 - UInt8(ascii: "0") : $0 - UInt8(ascii: "a") + 10
        }
        self = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
