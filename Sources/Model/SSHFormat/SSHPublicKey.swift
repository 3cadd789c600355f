/// A public key without a private part: the blob that is exchanged (RFC 4253, section 6.6).
///
/// Each key has one blob, so keys are equal if their blobs are.
package struct SSHPublicKey: Hashable, Sendable {
    /// The blob: `string` algorithm, and the key's numbers.
    package let blob: [UInt8]
    let material: SSHKeyMaterial

    /// The algorithm that the blob names: `ssh-ed25519`, `ecdsa-sha2-nistp256`, `ecdsa-sha2-nistp384`,
    /// `ecdsa-sha2-nistp521` or `ssh-rsa`.
    package var algorithm: String { material.algorithm }

    /// The point of a P-256 key, uncompressed: 4, X and Y; 65 bytes.
    ///
    /// Nil for another key.
    package var x963: [UInt8]? {
        guard case .ecdsa(.p256, let point) = material else { return nil }
        return point
    }

    /// Parses a blob.
    ///
    /// Keys: Ed25519 (RFC 8709, section 4), ECDSA with an uncompressed point (RFC 5656, section 3.1), and RSA of 1024 to 16384
    /// bits (RFC 4253, section 6.6). Of a host's certificate of such a key (PROTOCOL.certkeys), the plain key is taken; neither its
    /// names, its times nor its authority's signature are checked, so they prove nothing.
    ///
    /// - Throws: ``SSHFormatError`` for another algorithm, numbers that are no key, a user's certificate, a longer form of a
    ///   number than necessary, and bytes after the end.
    package init(blob: [UInt8]) throws(SSHFormatError) { try self.init(blob, certificates: .host) }

    /// The two types of certificates.
    private enum Certificates: UInt32 {
        case user = 1
        case host = 2
    }

    /// What the algorithm of a certificate has after that of its key.
    private static let certificate = "-cert-v01@openssh.com"

    /// The plain key of a user's certificate of a P-256 key (PROTOCOL.certkeys), of which nothing else is checked.
    ///
    /// - Throws: ``SSHFormatError`` as ``init(blob:)``, and for what is no certificate.
    init(userCertificate blob: [UInt8], algorithm: String) throws(SSHFormatError) {
        var reader = SSHReader(blob)
        guard algorithm.hasSuffix(Self.certificate), try reader.readText() == algorithm else {
            throw SSHFormatError()
        }
        try self.init(blob, certificates: .user)
    }

    private init(_ blob: [UInt8], certificates: Certificates) throws(SSHFormatError) {
        var reader = SSHReader(blob)
        let algorithm = try reader.readText()
        if algorithm.hasSuffix(Self.certificate) {
            _ = try reader.readString()  // The nonce.
            material = try SSHKeyMaterial(String(algorithm.dropLast(Self.certificate.count)), from: &reader)
            try Self.skipCertificate(certificates, in: &reader)
        } else {
            material = try SSHKeyMaterial(algorithm, from: &reader)
        }
        try reader.requireEnd()
        self.blob = material.blob
    }

    /// Takes the point of a P-256 key, uncompressed: 4, X and Y; 65 bytes.
    ///
    /// - Throws: ``SSHFormatError`` if it is not on the curve.
    package init(p256 x963: [UInt8]) throws(SSHFormatError) {
        guard SSHCurve.p256.contains(x963) else { throw SSHFormatError() }
        material = .ecdsa(.p256, point: x963)
        blob = material.blob
    }

    /// Reads what follows the key in a certificate.
    private static func skipCertificate(
        _ type: Certificates,
        in reader: inout SSHReader
    ) throws(SSHFormatError) {
        _ = try reader.readUInt64()  // The serial number.
        guard try reader.readUInt32() == type.rawValue else { throw SSHFormatError() }
        for _ in ["key id", "valid principals"] { _ = try reader.readString() }
        for _ in ["valid after", "valid before"] { _ = try reader.readUInt64() }
        for _ in ["critical options", "extensions", "reserved", "signature key", "signature"] {
            _ = try reader.readString()
        }
    }
}
