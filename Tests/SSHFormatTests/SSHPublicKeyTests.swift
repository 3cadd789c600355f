import Crypto
import Foundation
import SSHFormat
import Testing

@Suite("Public keys of ssh")
struct SSHPublicKeyTests {
    @Test("a key of ssh-keygen is read, and its line and fingerprint are OpenSSH's", arguments: KeyKind.all)
    func made(kind: KeyKind) throws {
        let keygen = try SSHKeygen()
        let line = try keygen.makeKey("key", type: kind.type, bits: kind.bits)
        let key = try #require(SSHPublicKey(line: line))
        #expect(key.algorithm == kind.algorithm)
        #expect(key.blob == (try blob(ofLine: line)))
        #expect(try SSHPublicKey(blob: key.blob) == key)
        #expect(key.line(comment: "a comment") + "\n" == line)
        let shown = try keygen.run(["-l", "-f", "key.pub"]).split(separator: " ")
        #expect(shown.count > 1 && key.fingerprint == shown[1])
        expectExact(key.blob) { _ = try SSHPublicKey(blob: $0) }
    }

    @Test("of a host's certificate, the plain key is taken; a user's is refused", arguments: KeyKind.all)
    func certificate(kind: KeyKind) throws {
        let keygen = try SSHKeygen()
        _ = try keygen.makeKey("authority")
        let key = try #require(
            SSHPublicKey(line: try keygen.makeKey("key", type: kind.type, bits: kind.bits))
        )
        let terms = ["-q", "-s", "authority", "-I", "id", "-n", "host.example,user", "-V", "+1h"]
        try keygen.run(terms + ["-h", "key.pub"])
        let line = try keygen.read("key-cert.pub")
        let certificate = try blob(ofLine: line)
        #expect(try SSHPublicKey(blob: certificate) == key)
        #expect(SSHPublicKey(line: line) == nil)
        expectExact(certificate) { _ = try SSHPublicKey(blob: $0) }

        try keygen.run(terms + ["key.pub"])
        let other = try blob(ofLine: try keygen.read("key-cert.pub"))
        #expect(throws: SSHFormatError()) { try SSHPublicKey(blob: other) }
    }

    @Test("a P-256 point gives the key, and the key the point")
    func point() throws {
        let point = Array(P256.Signing.PrivateKey().publicKey.x963Representation)
        let key = try SSHPublicKey(p256: point)
        #expect(key.x963 == point)
        #expect(try SSHPublicKey(blob: key.blob).x963 == point)
        #expect(try Peer.ed25519().key.x963 == nil)
        #expect(
            key.blob
                == written {
                    $0.write(text: "ecdsa-sha2-nistp256")
                    $0.write(text: "nistp256")
                    $0.write(string: point)
                }
        )
        expectExact(point) { _ = try SSHPublicKey(p256: $0) }
    }

    @Test("a point that is not on the curve, or compressed, is refused")
    func offCurve() throws {
        let secret = P256.Signing.PrivateKey().publicKey
        let point = Array(secret.x963Representation)
        let refused: [[UInt8]] = [
            flipping(bit: 8 * 64, of: point), [2] + point.dropFirst(), [0] + point.dropFirst(),
            Array(secret.compressedRepresentation), [0], [4] + [UInt8](repeating: 0, count: 64),
            [4] + [UInt8](repeating: 0xFF, count: 64),
        ]
        for point in refused {
            #expect(throws: SSHFormatError()) { try SSHPublicKey(p256: point) }
            for curve in ["nistp256", "nistp384"] {
                #expect(throws: SSHFormatError()) {
                    try SSHPublicKey(
                        blob: written {
                            $0.write(text: "ecdsa-sha2-" + curve)
                            $0.write(text: curve)
                            $0.write(string: point)
                        }
                    )
                }
            }
        }
    }

    @Test("a curve that is not the algorithm's is refused")
    func otherCurve() throws {
        let point = Array(P256.Signing.PrivateKey().publicKey.x963Representation)
        for (algorithm, curve) in [
            ("nistp256", "nistp384"), ("nistp384", "nistp256"), ("nistp384", "nistp384"),
            ("nistp224", "nistp224"),
        ] {
            #expect(throws: SSHFormatError()) {
                try SSHPublicKey(
                    blob: written {
                        $0.write(text: "ecdsa-sha2-" + algorithm)
                        $0.write(text: curve)
                        $0.write(string: point)
                    }
                )
            }
        }
    }

    @Test(
        "another algorithm is refused",
        arguments: [
            "", "ssh-dss", "sk-ssh-ed25519@openssh.com", "ssh-ed25519 ", "SSH-ED25519", "rsa-sha2-512",
            "-cert-v01@openssh.com", "ssh-ed25519-cert-v00@openssh.com",
        ]
    )
    func otherAlgorithm(name: String) {
        #expect(throws: SSHFormatError()) {
            try SSHPublicKey(
                blob: written {
                    $0.write(text: name)
                    $0.write(string: [UInt8](repeating: 1, count: 32))
                }
            )
        }
    }

    @Test("an Ed25519 key has 32 bytes", arguments: [0, 31, 33, 64])
    func ed25519Length(count: Int) {
        #expect(throws: SSHFormatError()) {
            try SSHPublicKey(
                blob: written {
                    $0.write(text: "ssh-ed25519")
                    $0.write(string: [UInt8](repeating: 1, count: count))
                }
            )
        }
    }

    private static func rsa(exponent: [UInt8], modulus: [UInt8]) throws -> SSHPublicKey {
        try SSHPublicKey(
            blob: written {
                $0.write(text: "ssh-rsa")
                $0.write(string: exponent)
                $0.write(string: modulus)
            }
        )
    }

    /// An odd number with a first byte, of a count of bytes.
    private static func number(_ first: UInt8, count: Int) -> [UInt8] {
        [first] + [UInt8](repeating: 0, count: count - 2) + [1]
    }

    @Test("an RSA modulus has 1024 to 16384 bits")
    func rsaSizes() throws {
        let accepted: [[UInt8]] = [[0] + Self.number(0x80, count: 128), [0] + Self.number(0x80, count: 2048)]
        for modulus in accepted {
            #expect(throws: Never.self) { try Self.rsa(exponent: [3], modulus: modulus) }
        }
        let refused: [[UInt8]] = [Self.number(0x40, count: 128), Self.number(1, count: 2049), [1], []]
        for modulus in refused {
            #expect(throws: SSHFormatError()) { try Self.rsa(exponent: [3], modulus: modulus) }
        }
    }

    @Test("numbers that are no RSA key, and longer forms of numbers, are refused")
    func rsaNumbers() throws {
        let modulus = [0] + Self.number(0x80, count: 256)
        #expect(throws: Never.self) { try Self.rsa(exponent: [1, 0, 1], modulus: modulus) }
        let exponents: [[UInt8]] = [
            [], [0], [1], [2], [0x81], [0, 1, 0, 1], [0x7F] + modulus.dropFirst() + [1],
        ]
        for exponent in exponents {
            #expect(throws: SSHFormatError(), "\(exponent)") {
                try Self.rsa(exponent: exponent, modulus: modulus)
            }
        }
        let moduli: [[UInt8]] = [Array(modulus.dropFirst()), [0] + modulus, modulus.dropLast() + [2]]
        for modulus in moduli {
            #expect(throws: SSHFormatError()) { try Self.rsa(exponent: [3], modulus: modulus) }
        }
    }

    @Test("a line is a key's only if all of it fits")
    func lines() throws {
        let key = try Peer.p256().key
        let base64 = Data(key.blob).base64EncodedString()
        let name = key.algorithm
        for line in [
            "\(name) \(base64)", "\(name) \(base64)\n", "\(name)\t\(base64) some comment",
            " \(name)  \(base64) ",
        ] {
            #expect(SSHPublicKey(line: line) == key, "\(line)")
        }
        for line in [
            "", "\n", name, base64, "\(name) ", "ssh-ed25519 \(base64)", "\(name) \(base64.dropLast())",
            "\(name) \(base64.dropLast(4))", "\(name) *\(base64)", "\(name) \(base64)AAAA",
            "restrict \(name) \(base64)", "\(name) \(base64)\n\(name) \(base64)", "\(name)\n\(base64)",
            "# \(name) \(base64)", "\(name) \(base64)\n\n", "\(name),\(base64)", "\(name) \(base64) a\nb",
            "\(name) \(base64) a\n\n",
        ] {
            #expect(SSHPublicKey(line: line) == nil, "\(line)")
        }
    }

    @Test("no comment can end the line, or control a terminal")
    func comments() throws {
        let key = try Peer.ed25519().key
        let fields = "ssh-ed25519 " + Data(key.blob).base64EncodedString()
        #expect(key.line(comment: "") == fields)
        #expect(key.line(comment: "Schlüssel 🔑") == fields + " Schlüssel 🔑")
        #expect(
            key.line(comment: "a\nb\r\nc\u{1B}[2J\u{7F}\u{85}\u{2028}\u{2029}\0\t") == fields
                + " a?b??c?[2J??????"
        )
    }
}
