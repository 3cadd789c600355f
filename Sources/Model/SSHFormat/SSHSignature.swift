internal import Crypto

/// Signature blobs: `string` algorithm, `string` signature (RFC 4253, section 6.6).
package enum SSHSignature {
    /// The blob of an ECDSA signature with P-256 (RFC 5656, section 3.1.2), from r and s, big-endian, 32 bytes each.
    ///
    /// - Throws: ``SSHFormatError`` for another length, and if r or s is zero.
    package static func p256(rawRepresentation: [UInt8]) throws(SSHFormatError) -> [UInt8] {
        let (r, s) = (Array(rawRepresentation.prefix(32)), Array(rawRepresentation.dropFirst(32)))
        guard rawRepresentation.count == 64, r.contains(where: { $0 != 0 }), s.contains(where: { $0 != 0 })
        else { throw SSHFormatError() }
        var numbers = SSHWriter()
        numbers.write(mpint: r)
        numbers.write(mpint: s)
        var writer = SSHWriter()
        writer.write(text: SSHCurve.p256.algorithm)
        writer.write(string: numbers.bytes)
        return writer.bytes
    }
}

extension SSHPublicKey {
    /// Whether a signature blob over a message is by this key.
    ///
    /// The algorithms: Ed25519 (RFC 8709, section 6), ECDSA with the curve's hash (RFC 5656, section 3.1.2), and `rsa-sha2-256`
    /// and `rsa-sha2-512` (RFC 8332, section 3). SHA-1 is never accepted, and neither is a signature by an RSA key of more than
    /// 8192 bits, which BoringSSL does not verify.
    package func isValid(signature: [UInt8], over message: [UInt8]) -> Bool {
        (try? verify(signature, over: message)) ?? false
    }

    private func verify(_ blob: [UInt8], over message: [UInt8]) throws -> Bool {
        var reader = SSHReader(blob)
        let algorithm = try reader.readText()
        let signature = try reader.readString()
        try reader.requireEnd()
        guard signatureAlgorithms.contains(algorithm) else { return false }
        switch material {
        case .ed25519(let point):
            return try Curve25519.Signing.PublicKey(rawRepresentation: point)
                .isValidSignature(signature, for: message)
        case .ecdsa(let curve, let point): return try curve.verify(signature, over: message, by: point)
        case .rsa(let exponent, let modulus):
            let key = try SSHRSA(exponent: exponent, modulus: modulus)
            return algorithm == "rsa-sha2-256"
                ? key.isValid(signature, for: SHA256.hash(data: message))
                : key.isValid(signature, for: SHA512.hash(data: message))
        }
    }

    /// What a signature by this key may be called, and what a login with it may announce.
    var signatureAlgorithms: [String] {
        guard case .rsa = material else { return [algorithm] }
        return ["rsa-sha2-256", "rsa-sha2-512"]
    }
}

extension SSHCurve {
    /// Whether r and s, an `mpint` each, are a signature by a point's key.
    fileprivate func verify(_ signature: [UInt8], over message: [UInt8], by point: [UInt8]) throws -> Bool {
        var reader = SSHReader(signature)
        var raw: [UInt8] = []
        for _ in ["r", "s"] {
            let number = try reader.readPositive()
            guard number.count <= coordinateBytes else { return false }
            raw += [UInt8](repeating: 0, count: coordinateBytes - number.count) + number
        }
        try reader.requireEnd()
        switch self {
        case .p256:
            return try P256.Signing.PublicKey(x963Representation: point)
                .isValidSignature(P256.Signing.ECDSASignature(rawRepresentation: raw), for: message)
        case .p384:
            return try P384.Signing.PublicKey(x963Representation: point)
                .isValidSignature(P384.Signing.ECDSASignature(rawRepresentation: raw), for: message)
        case .p521:
            return try P521.Signing.PublicKey(x963Representation: point)
                .isValidSignature(P521.Signing.ECDSASignature(rawRepresentation: raw), for: message)
        }
    }
}
