internal import SwiftASN1
internal import WebAuthnModel
internal import X509

/// `tpm`, section 8.3.
///
/// The signature has the plain form of its algorithm, as in the W3C vector and all implementations, although the text
/// calls it a TPMT_SIGNATURE.
struct TPMAttestation: AttestationFormat {
    static let identifier = "tpm"

    let acceptsSHA1: Bool

    func verify(
        _ statement: AttestationStatement,
        of subject: AttestationSubject
    ) throws(WebAuthnError) -> VerifiedStatement {
        let step = "8.3"
        try statement.requireMembers(["ver", "alg", "x5c", "sig", "certInfo", "pubArea"], step)
        guard try statement.text("ver", step) == "2.0" else {
            throw WebAuthnError(.malformedAttestation, step, "ver is not 2.0")
        }
        let algorithm = try statement.algorithm(step)
        guard algorithm != .rs1 || acceptsSHA1 else {
            throw WebAuthnError(.invalidAttestation, step, "SHA-1 is not accepted")
        }
        let signature = try statement.bytes("sig", step)
        let certInfoBytes = try statement.bytes("certInfo", step)
        let area: TPMPublicArea
        let certInfo: TPMCertifyInfo
        do throws(TPMStructureError) {
            area = try TPMPublicArea(parsing: statement.bytesOrEmpty("pubArea"))
            certInfo = try TPMCertifyInfo(parsing: certInfoBytes)
        } catch {
            throw WebAuthnError(.malformedAttestation, step, "pubArea or certInfo is not what it is to be")
        }
        guard area.isKey(subject.publicKey) else {
            throw WebAuthnError(.invalidAttestation, step, "pubArea is not the credential's key")
        }
        guard let extraData = TPMHash.digest(of: subject.message, algorithm), certInfo.extraData == extraData
        else {
            throw WebAuthnError(.invalidAttestation, step, "extraData is not the hash of what was asked")
        }
        guard let name = area.name, certInfo.name == name else {
            throw WebAuthnError(.invalidAttestation, step, "certInfo is about another key")
        }
        let path = try AttestationCertificate.parse(try statement.certificates(step), step)
        guard let key = SignatureKey(path[0].publicKey),
            key.isValid(signature, for: certInfoBytes, algorithm: algorithm)
        else {
            throw WebAuthnError(.invalidAttestation, step, "sig is not by the attestation certificate's key")
        }
        let chip = try Self.chip(of: path[0])
        try AttestationCertificate.checkAAGUID(of: path[0], is: subject.credential.aaguid, step)
        let evidence = TPMEvidence(
            publicArea: area,
            manufacturer: chip.manufacturer,
            model: chip.model,
            version: chip.version
        )
        return VerifiedStatement(
            format: Self.identifier,
            type: .attestationCA,
            trustPath: path,
            tpm: evidence
        )
    }

    /// tcg-kp-AIKCertificate.
    private static let aikCertificateUsage: ASN1ObjectIdentifier = [2, 23, 133, 8, 3]
    /// tcg-at-tpmManufacturer, tcg-at-tpmModel, tcg-at-tpmVersion.
    private static let chipAttributes: [ASN1ObjectIdentifier] = [
        [2, 23, 133, 2, 1], [2, 23, 133, 2, 2], [2, 23, 133, 2, 3],
    ]

    /// Section 8.3.1.
    ///
    /// The three attributes are in one relative name or in three, in any order: manufacturers differ.
    private static func chip(
        of certificate: Certificate
    ) throws(WebAuthnError) -> (manufacturer: String, model: String, version: String) {
        let step = "8.3.1"
        guard certificate.version == .v3 else {
            throw WebAuthnError(.invalidAttestation, step, "not version 3")
        }
        guard certificate.subject.isEmpty else {
            throw WebAuthnError(.invalidAttestation, step, "the subject is not empty")
        }
        guard let names = try? certificate.extensions.subjectAlternativeNames,
            certificate.extensions[oid: .X509ExtensionID.subjectAlternativeName]?.critical == true
        else { throw WebAuthnError(.invalidAttestation, step, "no critical alternative name") }
        var values: [String?] = [nil, nil, nil]
        for case .directoryName(let name) in names {
            for attribute in name.lazy.flatMap({ $0 }) {
                guard let index = chipAttributes.firstIndex(of: attribute.type) else { continue }
                values[index] = String(attribute.value)
            }
        }
        guard let manufacturer = values[0], let model = values[1], let version = values[2] else {
            throw WebAuthnError(.invalidAttestation, step, "the alternative name does not name a TPM")
        }
        guard let usages = try? certificate.extensions.extendedKeyUsage,
            usages.contains(where: { $0 == ExtendedKeyUsage.Usage(oid: aikCertificateUsage) })
        else { throw WebAuthnError(.invalidAttestation, step, "not for an attestation key") }
        try AttestationCertificate.checkIsNoAuthority(certificate, step)
        return (manufacturer, model, version)
    }
}

extension AttestationStatement {
    fileprivate func bytesOrEmpty(_ name: String) -> [UInt8] { (try? bytes(name, "8.3")) ?? [] }
}
