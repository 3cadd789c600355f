public import Foundation
internal import SwiftASN1
@_spi(FixedExpiryValidationTime) public import X509

/// What an attestation has to show, and who is trusted to vouch.
public struct AttestationPolicy: Sendable {
    /// Certificates of those who are trusted: roots, intermediates, or an attestation certificate itself.
    public var trustAnchors: [Certificate]
    /// Whether a credential may come with no attestation, or with its own key's.
    public var acceptsUnattested: Bool
    /// Whether an attestation may lead to nobody who is trusted; it then counts as the credential's own.
    public var acceptsUntrusted: Bool
    /// Whether a TPM may sign with RSA and SHA-1, as Windows Hello's do.
    public var acceptsSHA1: Bool
    /// The time at which certificates have to be valid; nil: now.
    public var validationTime: Date?

    /// Describes a policy; by default credentials without attestation are accepted, untrusted ones are not.
    public init(
        trustAnchors: [Certificate] = [],
        acceptsUnattested: Bool = true,
        acceptsUntrusted: Bool = false,
        acceptsSHA1: Bool = false,
        validationTime: Date? = nil
    ) {
        self.trustAnchors = trustAnchors
        self.acceptsUnattested = acceptsUnattested
        self.acceptsUntrusted = acceptsUntrusted
        self.acceptsSHA1 = acceptsSHA1
        self.validationTime = validationTime
    }

    /// Steps 21 and 22 of section 7.1.
    func verify(
        _ format: String,
        _ statement: AttestationStatement,
        of subject: AttestationSubject
    ) throws(WebAuthnError) -> VerifiedStatement {
        let known: any AttestationFormat
        switch format {
        case NoneAttestation.identifier: known = NoneAttestation()
        case PackedAttestation.identifier: known = PackedAttestation()
        case TPMAttestation.identifier: known = TPMAttestation(acceptsSHA1: acceptsSHA1)
        case FIDOU2FAttestation.identifier: known = FIDOU2FAttestation()
        default: throw WebAuthnError(.unsupportedFormat, "7.1 step 21", String(format.prefix(32)))
        }
        return try known.verify(statement, of: subject)
    }

    /// Steps 23, 24 and 28 of section 7.1.
    func assess(_ statement: VerifiedStatement) async throws(WebAuthnError) -> Attestation {
        var isTrusted = false
        switch statement.type {
        case .none, .selfAttestation:
            guard acceptsUnattested else {
                throw WebAuthnError(
                    .untrustedAttestation,
                    "7.1 step 24",
                    "\(statement.type.rawValue) attestation"
                )
            }
        case .basic, .attestationCA:
            let failure = await chainFailure(statement.trustPath)
            isTrusted = failure == nil
            if let failure, !acceptsUntrusted {
                throw WebAuthnError(.untrustedAttestation, "7.1 step 24", failure)
            }
        }
        return Attestation(
            format: statement.format,
            type: statement.type,
            trustPath: statement.trustPath,
            isTrusted: isTrusted,
            tpm: statement.tpm
        )
    }

    /// Why the certificates lead to no trust anchor; nil when they do.
    private func chainFailure(_ path: [Certificate]) async -> String? {
        guard let leaf = path.first else { return "no certificate" }
        let time = validationTime ?? Date()
        // An attestation certificate may be trusted itself (step 24).
        if trustAnchors.contains(leaf) {
            return (leaf.notValidBefore...leaf.notValidAfter).contains(time)
                ? nil : "the certificate is not valid now"
        }
        for (certificate, issuer) in zip(path, path.dropFirst()) {
            guard certificate.issuer == issuer.subject else { return "x5c is not in order" }
            // Roots are the verifier's; what a client adds to the end says nothing (FIDO's server cases refuse it).
            guard issuer.issuer != issuer.subject else { return "x5c carries a root" }
        }
        var verifier = Verifier(rootCertificates: CertificateStore(trustAnchors)) {
            RFC5280Policy(fixedExpiryValidationTime: time)
            AttestationExtensionsPolicy()
        }
        var notes: [String] = []
        let result = await verifier.validate(
            leaf: leaf,
            intermediates: CertificateStore(path.dropFirst()),
            diagnosticCallback: { notes.append("\($0)") }
        )
        switch result {
        case .validCertificate: return nil
        case .couldNotValidate(let failures):
            return failures.map { "\($0.policyFailureReason)" }.first ?? notes.last
                ?? "no chain to a trust anchor"
        }
    }
}

/// Critical extensions that attestation certificates carry beside those that ``RFC5280Policy`` knows.
///
/// The subject's alternative name is looked at by the format (section 8.3.1); certificate policies limit nothing here,
/// because none is asked for.
private struct AttestationExtensionsPolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [
        .X509ExtensionID.subjectAlternativeName, [2, 5, 29, 32], .X509ExtensionID.extendedKeyUsage,
    ]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async -> PolicyEvaluationResult {
        .meetsPolicy
    }
}
