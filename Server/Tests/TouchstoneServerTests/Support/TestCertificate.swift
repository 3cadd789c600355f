import Crypto
import Foundation
import SwiftASN1
import X509

/// A self-signed certificate for localhost.
enum TestCertificate {
    /// Writes certificate and key as PEM.
    ///
    /// - Returns: The paths of both.
    static func write(to directory: String) throws -> (certificate: String, key: String) {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("localhost") }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: .init(key.publicKey),
            notValidBefore: Date() - 3600,
            notValidAfter: Date() + 86_400,
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions { SubjectAlternativeNames([.dnsName("localhost")]) },
            issuerPrivateKey: .init(key)
        )
        let paths = ("\(directory)/tls.pem", "\(directory)/tls.key")
        try certificate.serializeAsPEM().pemString.write(toFile: paths.0, atomically: true, encoding: .utf8)
        try key.pemRepresentation.write(toFile: paths.1, atomically: true, encoding: .utf8)
        return paths
    }
}
