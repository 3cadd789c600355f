internal import Crypto
internal import SwiftASN1
internal import WebAuthnModel
internal import X509

/// The data that a statement attests.
struct AttestationSubject {
    /// The authenticator data as signed.
    let authenticatorData: [UInt8]
    /// SHA-256 of the client data.
    let clientDataHash: [UInt8]
    let rpIdHash: [UInt8]
    let credential: AttestedCredentialData
    let publicKey: COSEKey
    let verifier: SignatureKey

    /// The message that most formats sign.
    var message: [UInt8] { authenticatorData + clientDataHash }
}

/// A format of attestation statements: verifies a statement, and leaves trust to the policy.
protocol AttestationFormat: Sendable {
    /// The name in IANA's registry "WebAuthn Attestation Statement Format Identifiers".
    static var identifier: String { get }

    /// The format's verification procedure.
    func verify(
        _ statement: AttestationStatement,
        of subject: AttestationSubject
    ) throws(WebAuthnError) -> VerifiedStatement
}

/// `none`, section 8.7.
struct NoneAttestation: AttestationFormat {
    static let identifier = "none"

    func verify(
        _ statement: AttestationStatement,
        of subject: AttestationSubject
    ) throws(WebAuthnError) -> VerifiedStatement {
        guard statement.isEmpty else {
            throw WebAuthnError(.malformedAttestation, "8.7", "a statement with members")
        }
        return VerifiedStatement(format: Self.identifier, type: .none)
    }
}

/// `packed`, section 8.2.
struct PackedAttestation: AttestationFormat {
    static let identifier = "packed"

    func verify(
        _ statement: AttestationStatement,
        of subject: AttestationSubject
    ) throws(WebAuthnError) -> VerifiedStatement {
        try statement.requireMembers(["alg", "sig"], optional: ["x5c"], "8.2")
        let algorithm = try statement.algorithm("8.2")
        let signature = try statement.bytes("sig", "8.2")
        guard statement.has("x5c") else {
            guard algorithm == subject.publicKey.algorithm else {
                throw WebAuthnError(.invalidAttestation, "8.2", "alg is not the credential's")
            }
            guard subject.verifier.isValid(signature, for: subject.message, algorithm: algorithm) else {
                throw WebAuthnError(.invalidAttestation, "8.2", "sig is not by the credential's key")
            }
            return VerifiedStatement(format: Self.identifier, type: .selfAttestation)
        }
        let path = try AttestationCertificate.parse(try statement.certificates("8.2"), "8.2")
        let leaf = path[0]
        guard let key = SignatureKey(leaf.publicKey),
            key.isValid(signature, for: subject.message, algorithm: algorithm)
        else {
            throw WebAuthnError(.invalidAttestation, "8.2", "sig is not by the attestation certificate's key")
        }
        try AttestationCertificate.checkPacked(leaf)
        try AttestationCertificate.checkAAGUID(of: leaf, is: subject.credential.aaguid, "8.2")
        return VerifiedStatement(format: Self.identifier, type: .basic, trustPath: path)
    }
}

/// `fido-u2f`, section 8.6.
struct FIDOU2FAttestation: AttestationFormat {
    static let identifier = "fido-u2f"

    func verify(
        _ statement: AttestationStatement,
        of subject: AttestationSubject
    ) throws(WebAuthnError) -> VerifiedStatement {
        try statement.requireMembers(["x5c", "sig"], "8.6")
        let signature = try statement.bytes("sig", "8.6")
        let path = try AttestationCertificate.parse(try statement.certificates("8.6"), "8.6")
        guard path.count == 1 else {
            throw WebAuthnError(.malformedAttestation, "8.6", "more than one certificate")
        }
        guard case .p256 = SignatureKey(path[0].publicKey) else {
            throw WebAuthnError(.invalidAttestation, "8.6", "the certificate's key is not on P-256")
        }
        guard case .ec2(.es256, .p256, let x, let y) = subject.publicKey else {
            throw WebAuthnError(.invalidAttestation, "8.6", "the credential's key is not on P-256")
        }
        let message =
            [0] + subject.rpIdHash + subject.clientDataHash + subject.credential.credentialId + [4] + x + y
        guard SignatureKey(path[0].publicKey)?.isValid(signature, for: message, algorithm: .es256) == true
        else {
            throw WebAuthnError(.invalidAttestation, "8.6", "sig is not by the certificate's key")
        }
        return VerifiedStatement(format: Self.identifier, type: .basic, trustPath: path)
    }
}

/// The requirements of the formats for an attestation certificate.
enum AttestationCertificate {
    /// id-fido-gen-ce-aaguid.
    static let aaguidExtension: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4]

    static func parse(_ certificates: [[UInt8]], _ step: String) throws(WebAuthnError) -> [Certificate] {
        var parsed: [Certificate] = []
        for certificate in certificates {
            do {
                parsed.append(try Certificate(derEncoded: certificate))
            } catch {
                throw WebAuthnError(.malformedAttestation, step, "certificate \(parsed.count): \(error)")
            }
        }
        return parsed
    }

    /// Section 8.2.1.
    static func checkPacked(_ certificate: Certificate) throws(WebAuthnError) {
        let step = "8.2.1"
        guard certificate.version == .v3 else {
            throw WebAuthnError(.invalidAttestation, step, "not version 3")
        }
        let subject = certificate.subject
        guard let country = value(.RDNAttributeType.countryName, in: subject), country.utf8.count == 2 else {
            throw WebAuthnError(.invalidAttestation, step, "Subject-C is no country's code")
        }
        guard value(.RDNAttributeType.organizationName, in: subject)?.isEmpty == false else {
            throw WebAuthnError(.invalidAttestation, step, "Subject-O is missing")
        }
        guard value(.RDNAttributeType.organizationalUnitName, in: subject) == "Authenticator Attestation"
        else {
            throw WebAuthnError(.invalidAttestation, step, "Subject-OU is not Authenticator Attestation")
        }
        guard value(.RDNAttributeType.commonName, in: subject)?.isEmpty == false else {
            throw WebAuthnError(.invalidAttestation, step, "Subject-CN is missing")
        }
        try checkIsNoAuthority(certificate, step)
    }

    static func checkIsNoAuthority(_ certificate: Certificate, _ step: String) throws(WebAuthnError) {
        guard case .notCertificateAuthority? = try? certificate.extensions.basicConstraints else {
            throw WebAuthnError(.invalidAttestation, step, "Basic Constraints do not say that it is no CA")
        }
    }

    /// If the certificate names a model, it must be the authenticator's: sections 8.2 and 8.3.
    static func checkAAGUID(
        of certificate: Certificate,
        is aaguid: [UInt8],
        _ step: String
    ) throws(WebAuthnError) {
        guard let found = certificate.extensions[oid: aaguidExtension] else { return }
        guard !found.critical else {
            throw WebAuthnError(.invalidAttestation, step, "the AAGUID is critical")
        }
        // An OCTET STRING inside the extension's own.
        guard let octets = try? ASN1OctetString(derEncoded: found.value), octets.bytes.elementsEqual(aaguid)
        else {
            throw WebAuthnError(.invalidAttestation, step, "the certificate is for another AAGUID")
        }
    }

    private static func value(_ type: ASN1ObjectIdentifier, in name: DistinguishedName) -> String? {
        name.lazy.flatMap { $0 }.first { $0.type == type }.flatMap { String($0.value) }
    }
}
