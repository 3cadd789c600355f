import Crypto
import Foundation
import RelyingParty
import SwiftASN1
import Testing
import X509

/// A manufacturer of chips: a root, an issuing authority below it, endorsement certificates by that one, and revocation lists that
/// OpenSSL writes.
struct ChipMaker {
    let rootKey = P256.Signing.PrivateKey()
    let issuerKey = P256.Signing.PrivateKey()
    let root: Certificate
    let issuer: Certificate

    /// `mayRevoke`: whether the issuing authority's certificate lets it sign lists.
    init(mayRevoke: Bool = true) throws {
        let rootName = try DistinguishedName { CommonName("Maker root") }
        let issuerName = try DistinguishedName { CommonName("Maker issuing") }
        root = try Self.certificate(
            rootName,
            .init(rootKey.publicKey),
            number: 1,
            by: rootName,
            rootKey,
            extensions: try .init {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            }
        )
        issuer = try Self.certificate(
            issuerName,
            .init(issuerKey.publicKey),
            number: 0x77,
            by: rootName,
            rootKey,
            extensions: try .init {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: mayRevoke))
            }
        )
    }

    private static func certificate(
        _ subject: DistinguishedName,
        _ key: Certificate.PublicKey,
        number: Int,
        by issuer: DistinguishedName,
        _ issuerKey: P256.Signing.PrivateKey,
        extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3,
            serialNumber: .init(number),
            publicKey: key,
            notValidBefore: Date() - 86_400,
            notValidAfter: Date() + 10 * 86_400,
            issuer: issuer,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: .init(issuerKey)
        )
    }

    /// The certificates of a chip's endorsement key, DER: its own, and that of the issuing authority.
    func endorsement(_ chip: SoftChip, number: Int) throws -> [[UInt8]] {
        let key = try P256.Signing.PublicKey(
            x963Representation: chip.endorsementKey.publicKey.x963Representation
        )
        let name = RelativeDistinguishedName([
            .init(type: [2, 23, 133, 2, 1], utf8String: "id:FFFFF1D0"),
            .init(type: [2, 23, 133, 2, 2], utf8String: "Test TPM"),
            .init(type: [2, 23, 133, 2, 3], utf8String: "id:13"),
        ])
        let leaf = try Self.certificate(
            DistinguishedName(),
            .init(key),
            number: number,
            by: issuer.subject,
            issuerKey,
            extensions: try .init {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(keyAgreement: true))
                Critical(SubjectAlternativeNames([.directoryName(DistinguishedName([name]))]))
            }
        )
        return try [leaf, issuer].map { certificate in
            var serializer = DER.Serializer()
            try serializer.serialize(certificate)
            return serializer.serializedBytes
        }
    }

    /// A revocation list by OpenSSL, PEM.
    ///
    /// - Parameters:
    ///   - numbers: the revoked certificates.
    ///   - byRoot: whether the root lists them, not the issuing authority.
    ///   - key: a key other than the authority's own.
    ///   - days: when the list ends, from now on; below 0 it has ended.
    ///   - extensions: lines for the extensions of the list.
    /// - Returns: the list.
    /// - Throws: if OpenSSL fails.
    func revocations(
        of numbers: [Int],
        byRoot: Bool = false,
        key: P256.Signing.PrivateKey? = nil,
        days: Int = 7,
        extensions: String = ""
    ) async throws -> String {
        let directory = FileManager.default.temporaryDirectory.path + "/maker-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let entries = numbers.map {
            let digits = String($0, radix: 16, uppercase: true)
            let serial = digits.count % 2 == 0 ? digits : "0\(digits)"
            return "R\t491231235959Z\t240101000000Z,keyCompromise\t\(serial)\tunknown\t/CN=chip\n"
        }
        let signer = key ?? (byRoot ? rootKey : issuerKey)
        var authority = byRoot ? root : issuer
        if key != nil {
            // OpenSSL takes no key that is not the certificate's.
            authority = try Self.certificate(
                authority.subject,
                .init(signer.publicKey),
                number: 9,
                by: authority.subject,
                signer,
                extensions: authority.extensions
            )
        }
        try TestServer.write(
            [
                "index.txt": entries.joined(), "key.pem": signer.pemRepresentation,
                "maker.pem": try authority.serializeAsPEM().pemString,
                "ca.conf": """
                [ca]
                default_ca = maker
                [maker]
                database = \(directory)/index.txt
                default_md = sha256
                crl_extensions = list
                [list]
                \(extensions)

                """,
            ],
            to: directory
        )
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = .gmt
        format.dateFormat = "yyyyMMddHHmmss'Z'"
        let end = Date() + Double(days) * 86_400
        let result = try await SystemProgram.run(
            "openssl",
            [
                "ca", "-gencrl", "-batch", "-config", "\(directory)/ca.conf", "-cert",
                "\(directory)/maker.pem",
                "-keyfile", "\(directory)/key.pem", "-out", "\(directory)/list.pem",
                "-crl_lastupdate", format.string(from: end - 30 * 86_400),
                "-crl_nextupdate", format.string(from: end),
            ]
        )
        try #require(result.status == 0, "\(result.text)")
        return try String(contentsOfFile: "\(directory)/list.pem", encoding: .utf8)
    }
}
