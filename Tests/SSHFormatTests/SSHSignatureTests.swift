import Crypto
import CryptoExtras
import Foundation
import SSHFormat
import Testing

@Suite("Signatures of ssh")
struct SSHSignatureTests {
    private let message = Array("message".utf8)

    /// Checks that a signature is valid, and neither a part of it nor one with a flipped bit, in it or in the message.
    private func expectBound(
        _ key: SSHPublicKey,
        _ blob: [UInt8],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(key.isValid(signature: blob, over: message), sourceLocation: sourceLocation)
        for bit in 0..<8 * blob.count {
            #expect(
                !key.isValid(signature: flipping(bit: bit, of: blob), over: message),
                "bit \(bit)",
                sourceLocation: sourceLocation
            )
        }
        for bit in 0..<8 * message.count {
            #expect(
                !key.isValid(signature: blob, over: flipping(bit: bit, of: message)),
                "bit \(bit) of the message",
                sourceLocation: sourceLocation
            )
        }
        for count in blob.indices {
            #expect(
                !key.isValid(signature: Array(blob.prefix(count)), over: message),
                "\(count) bytes",
                sourceLocation: sourceLocation
            )
        }
        #expect(!key.isValid(signature: blob + [0], over: message), sourceLocation: sourceLocation)
    }

    @Test("an Ed25519 signature with a flipped bit, missing or extra bytes is invalid")
    func ed25519() throws {
        let peer = try Peer.ed25519()
        expectBound(peer.key, try peer.sign(message))
        #expect(try !peer.key.isValid(signature: Peer.ed25519().sign(message), over: message))
    }

    @Test("a P-256 signature with a flipped bit, missing or extra bytes is invalid")
    func p256() throws {
        let peer = try Peer.p256()
        expectBound(peer.key, try peer.sign(message))
        #expect(try !peer.key.isValid(signature: Peer.p256().sign(message), over: message))
        #expect(try !Peer.ed25519().key.isValid(signature: peer.sign(message), over: message))
    }

    @Test("r and s are written as numbers: without leading zeros, and with one before a high bit")
    func numbers() throws {
        let secret = P256.Signing.PrivateKey()
        let key = try SSHPublicKey(p256: Array(secret.publicKey.x963Representation))
        var seen: Set<String> = []
        for _ in 0..<20_000 where seen.count < 6 {
            let raw = Array(try secret.signature(for: message).rawRepresentation)
            var kinds: Set<String> = []
            for (name, first) in [("r", raw[0]), ("s", raw[32])] {
                kinds.insert(first == 0 ? name + " short" : first >= 0x80 ? name + " high" : name)
            }
            guard !kinds.isSubset(of: seen) else { continue }
            seen.formUnion(kinds)
            let blob = try SSHSignature.p256(rawRepresentation: raw)
            #expect(key.isValid(signature: blob, over: message))
            var reader = SSHReader(blob)
            #expect(try reader.readText() == "ecdsa-sha2-nistp256")
            reader = SSHReader(try reader.readString())
            var again: [UInt8] = []
            for _ in 0..<2 {
                let number = try reader.readString()
                let first = try #require(number.first)
                #expect(first < 0x80 && (first != 0 || number[1] >= 0x80))
                let magnitude = Array(number.drop { $0 == 0 })
                again += [UInt8](repeating: 0, count: 32 - magnitude.count) + magnitude
            }
            try reader.requireEnd()
            #expect(again == raw)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: again)
            #expect(secret.publicKey.isValidSignature(signature, for: message))
        }
        #expect(seen == ["r", "s", "r high", "s high", "r short", "s short"])
    }

    @Test("r and s in longer forms, zero, negative or too long are no signature")
    func forms() throws {
        let secret = P256.Signing.PrivateKey()
        let key = try SSHPublicKey(p256: Array(secret.publicKey.x963Representation))
        let raw = Array(try secret.signature(for: message).rawRepresentation)
        func blob(_ numbers: [UInt8]...) -> [UInt8] {
            signature(
                "ecdsa-sha2-nistp256",
                written { writer in for number in numbers { writer.write(string: number) } }
            )
        }
        func shortest(_ number: ArraySlice<UInt8>) -> [UInt8] {
            Array(written { $0.write(mpint: Array(number)) }.dropFirst(4))
        }
        let (r, s) = (shortest(raw[..<32]), shortest(raw[32...]))
        #expect(key.isValid(signature: blob(r, s), over: message))
        for refused in [
            blob([0] + r, s), blob(r, [0] + s), blob([], s), blob(r, []), blob([0], s), blob([0x80] + r, s),
            blob([1] + [UInt8](repeating: 0, count: 32), s), blob([UInt8](repeating: 1, count: 1000), s),
            blob(r), blob(r, s, s), blob(), blob(s, r),
        ] {
            #expect(!key.isValid(signature: refused, over: message))
        }
    }

    @Test("a raw signature has 64 bytes, of which neither half is zero")
    func raw() {
        let one = [UInt8](repeating: 1, count: 32)
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(throws: Never.self) { try SSHSignature.p256(rawRepresentation: one + one) }
        for refused in [[], one, one + one.dropLast(), one + one + [1], zero + one, one + zero] {
            #expect(throws: SSHFormatError()) { try SSHSignature.p256(rawRepresentation: refused) }
        }
    }

    @Test("an RSA signature is valid with SHA-256 and SHA-512, each by its name, and never with SHA-1")
    func rsa() throws {
        let peer = try RSAPeer()
        let sha256 = try peer.sign(SHA256.hash(data: message))
        let sha512 = try peer.sign(SHA512.hash(data: message))
        let sha1 = try peer.sign(Insecure.SHA1.hash(data: message))
        let cells: [(String, [UInt8], Bool)] = [
            ("rsa-sha2-256", sha256, true), ("rsa-sha2-512", sha512, true),
            ("rsa-sha2-256", sha512, false), ("rsa-sha2-512", sha256, false),
            ("ssh-rsa", sha1, false), ("rsa-sha2-256", sha1, false), ("rsa-sha2-512", sha1, false),
            ("ssh-rsa", sha256, false), ("ssh-rsa", sha512, false), ("ssh-ed25519", sha256, false),
            ("rsa-sha2-256", [], false), ("rsa-sha2-256", [0] + sha256, false),
            ("rsa-sha2-256", sha256 + [0], false), ("rsa-sha2-256", Array(sha256.dropLast()), false),
        ]
        for (algorithm, bytes, isValid) in cells {
            let blob = signature(algorithm, bytes)
            let comment: Comment = "\(algorithm), \(bytes.count) bytes"
            #expect(peer.key.isValid(signature: blob, over: message) == isValid, comment)
        }
        for bit in 0..<8 * sha256.count {
            let blob = signature("rsa-sha2-256", flipping(bit: bit, of: sha256))
            #expect(!peer.key.isValid(signature: blob, over: message), "bit \(bit)")
        }
    }

    @Test("an RSA signature may lack its leading zeros (RFC 8332, section 3)")
    func shortRSA() throws {
        let peer = try RSAPeer()
        for number in 0..<10_000 {
            let message = Array("message \(number)".utf8)
            let bytes = try peer.sign(SHA256.hash(data: message))
            guard bytes.first == 0 else { continue }
            let blob = signature("rsa-sha2-256", Array(bytes.drop { $0 == 0 }))
            #expect(peer.key.isValid(signature: blob, over: message))
            return
        }
        Issue.record("no signature begins with zero")
    }

    @Test("RSA keys that BoringSSL does not take verify nothing")
    func largeRSA() throws {
        let longExponent = [UInt8](repeating: 1, count: 13)
        for (exponent, bytes) in [([1, 0, 1], 2048), (longExponent, 256)] as [([UInt8], Int)] {
            let key = try SSHPublicKey(
                blob: written {
                    $0.write(text: "ssh-rsa")
                    $0.write(mpint: exponent)
                    $0.write(mpint: [0x80] + [UInt8](repeating: 0, count: bytes - 2) + [1])
                }
            )
            let blob = signature("rsa-sha2-256", [UInt8](repeating: 1, count: bytes))
            #expect(!key.isValid(signature: blob, over: message))
        }
    }
}
