import CryptoKit
import Foundation
import NIOSSL
import SwiftASN1
import X509

/// The server's key and certificate in one file, encrypted with a passphrase.
struct ServerKey {
    let file: URL
    let passphrase: Data

    /// The content of the file; creates a key and certificate if there is no file.
    func bundle() throws -> NIOSSLPKCS12Bundle {
        if !FileManager.default.fileExists(atPath: file.path) { try make() }
        return try NIOSSLPKCS12Bundle(file: file.path, passphrase: Array(passphrase))
    }

    private func make() throws {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("localhost") }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date().addingTimeInterval(-60),
            notValidAfter: Date().addingTimeInterval(365 * 86400),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames([.dnsName("localhost")])
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        var der = DER.Serializer()
        try der.serialize(certificate)
        let bundle = NIOSSLPKCS12Bundle(
            certificateChain: [try NIOSSLCertificate(bytes: der.serializedBytes, format: .der)],
            privateKey: try NIOSSLPrivateKey(bytes: Array(key.derRepresentation), format: .der)
        )
        try Data(bundle.serialize(passphrase: Array(passphrase))).write(to: file, options: .atomic)
    }
}
