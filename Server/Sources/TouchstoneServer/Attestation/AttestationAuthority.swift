internal import Crypto
internal import Foundation
internal import SwiftASN1
internal import WebAuthn
internal import X509

/// The server's CA for attestation keys of chips: a key that passed credential activation gets a certificate (WebAuthn
/// Level 3, section 8.3.1).
struct AttestationAuthority: Sendable {
    let certificate: Certificate
    private let key: P256.Signing.PrivateKey

    /// How long a certificate for an attestation key is valid.
    private static let lifetime: TimeInterval = 90 * 86_400
    private static let usage: ASN1ObjectIdentifier = [2, 23, 133, 8, 3]

    /// Reads the authority's key and certificate, or creates them at the first start.
    ///
    /// - Throws: ``ConfigurationFault`` for a file that cannot be read or written.
    init(directory: String) throws(ConfigurationFault) {
        let path = "\(directory)/attestation-ca.pem"
        let text = try SecretFile.readOrMake(path) {
            let key = P256.Signing.PrivateKey()
            let certificate = try Self.root(key)
            return try certificate.serializeAsPEM().pemString + "\n" + key.pemRepresentation + "\n"
        }
        guard let documents = try? PEMDocument.parseMultiple(pemString: text), documents.count == 2,
            let certificate = try? Certificate(pemDocument: documents[0]),
            let key = try? P256.Signing.PrivateKey(derRepresentation: documents[1].derBytes),
            Certificate.PublicKey(key.publicKey) == certificate.publicKey
        else { throw ConfigurationFault(place: path, reason: "is no certificate followed by its key") }
        self.certificate = certificate
        self.key = key
    }

    private static func root(_ key: P256.Signing.PrivateKey) throws -> Certificate {
        let name = try DistinguishedName { CommonName("Touchstone attestation CA") }
        let now = Date()
        return try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: .init(key.publicKey),
            notValidBefore: now.addingTimeInterval(-86_400),
            notValidAfter: now.addingTimeInterval(20 * 366 * 86_400),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try .init {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            },
            issuerPrivateKey: .init(key)
        )
    }

    /// Whether it is valid now.
    func isValid(at time: Date) -> Bool {
        (certificate.notValidBefore...certificate.notValidAfter).contains(time)
    }

    /// Issues a certificate for the attestation key of a chip, in DER.
    func issue(_ publicKey: P256.Signing.PublicKey, for chip: EndorsedChip) throws -> [UInt8] {
        let names = [(1, chip.manufacturer), (2, chip.model), (3, chip.version)].map { number, value in
            RelativeDistinguishedName.Attribute(type: [2, 23, 133, 2, UInt(number)], utf8String: value)
        }
        let now = Date()
        let certificate = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: .init(publicKey),
            notValidBefore: now.addingTimeInterval(-300),
            notValidAfter: min(now.addingTimeInterval(Self.lifetime), self.certificate.notValidAfter),
            issuer: self.certificate.subject,
            subject: DistinguishedName([RelativeDistinguishedName]()),
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try .init {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([ExtendedKeyUsage.Usage(oid: Self.usage)])
                Critical(
                    SubjectAlternativeNames([
                        .directoryName(DistinguishedName([RelativeDistinguishedName(names)]))
                    ])
                )
            },
            issuerPrivateKey: .init(key)
        )
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}
