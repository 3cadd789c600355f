import Crypto
import CryptoExtras
import Foundation
import SSHFormat
import Testing

/// One who signs, with swift-crypto.
struct Peer {
    let key: SSHPublicKey
    /// The signature blob over a message.
    let sign: ([UInt8]) throws -> [UInt8]

    static func ed25519() throws -> Peer {
        let secret = Curve25519.Signing.PrivateKey()
        let blob = written {
            $0.write(text: "ssh-ed25519")
            $0.write(string: Array(secret.publicKey.rawRepresentation))
        }
        return Peer(key: try SSHPublicKey(blob: blob)) { message in
            signature("ssh-ed25519", Array(try secret.signature(for: message)))
        }
    }

    static func p256() throws -> Peer {
        let secret = P256.Signing.PrivateKey()
        return Peer(key: try SSHPublicKey(p256: Array(secret.publicKey.x963Representation))) { message in
            try SSHSignature.p256(
                rawRepresentation: Array(try secret.signature(for: message).rawRepresentation)
            )
        }
    }
}

/// An RSA key of 1024 bits.
struct RSAPeer {
    let key: SSHPublicKey
    private let secret: _RSA.Signing.PrivateKey

    init() throws {
        secret = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))
        let numbers = try secret.publicKey.getKeyPrimitives()
        key = try SSHPublicKey(
            blob: written {
                $0.write(text: "ssh-rsa")
                $0.write(mpint: Array(numbers.publicExponent))
                $0.write(mpint: Array(numbers.modulus))
            }
        )
    }

    /// The 128 bytes of a signature over a digest.
    func sign(_ digest: some Digest) throws -> [UInt8] {
        Array(try secret.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation)
    }
}

/// What a closure writes.
func written(_ content: (inout SSHWriter) -> Void) -> [UInt8] {
    var writer = SSHWriter()
    content(&writer)
    return writer.bytes
}

/// A signature blob.
func signature(_ algorithm: String, _ bytes: [UInt8]) -> [UInt8] {
    written {
        $0.write(text: algorithm)
        $0.write(string: bytes)
    }
}

/// Bytes with one bit flipped.
func flipping(bit: Int, of bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes[bit / 8] ^= 1 << (bit % 8)
    return bytes
}

/// Checks that bytes are accepted, and neither a beginning of them nor they and one more byte.
func expectExact(
    _ bytes: [UInt8],
    sourceLocation: SourceLocation = #_sourceLocation,
    _ parse: ([UInt8]) throws -> Void
) {
    #expect(throws: Never.self, sourceLocation: sourceLocation) { try parse(bytes) }
    for count in bytes.indices {
        #expect(throws: SSHFormatError(), "\(count) bytes", sourceLocation: sourceLocation) {
            try parse(Array(bytes.prefix(count)))
        }
    }
    #expect(throws: SSHFormatError(), "a trailing byte", sourceLocation: sourceLocation) {
        try parse(bytes + [0])
    }
}

/// SplitMix64, the same numbers in each run.
struct FixedNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = state
        number = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
        return number ^ number >> 31
    }

    mutating func bytes(atMost most: Int) -> [UInt8] {
        let count = Int.random(in: 0...most, using: &self)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}
