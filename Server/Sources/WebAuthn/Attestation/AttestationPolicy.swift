public import Foundation
internal import SwiftASN1
@_spi(FixedExpiryValidationTime) public import X509

/// The requirements for attestations, and the trust anchors.
public struct AttestationPolicy: Sendable {
    /// The trusted certificates: roots, intermediates, or an attestation certificate itself.
    public var trustAnchors: [Certificate]
    /// Whether a credential may have no attestation, or self attestation.
    public var acceptsUnattested: Bool
    /// Whether an attestation may lack a trust anchor; it then counts as self attestation.
    public var acceptsUntrusted: Bool
    /// Whether a TPM may sign with RSA and SHA-1, as Windows Hello's TPMs do.
    public var acceptsSHA1: Bool
    /// The time for checking the validity of certificates; nil: now.
    public var validationTime: Date?

    /// Creates a policy; by default it accepts credentials without attestation, but no untrusted attestation.
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

    /// Why the certificates do not chain to a trust anchor; nil when they do.
    private func chainFailure(_ path: [Certificate]) async -> String? {
        guard let leaf = path.first else { return "no certificate" }
        let time = validationTime ?? Date()
        // An attestation certificate may be a trust anchor itself (step 24).
        if trustAnchors.contains(leaf) {
            return (leaf.notValidBefore...leaf.notValidAfter).contains(time)
                ? nil : "the certificate is not valid now"
        }
        for (certificate, issuer) in zip(path, path.dropFirst()) {
            guard certificate.issuer == issuer.subject else { return "x5c is not in order" }
            // The verifier has its own roots; one at the end of a client's chain proves nothing (FIDO's conformance
            // cases refuse it).
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

/// Critical extensions of attestation certificates beyond those that ``RFC5280Policy`` handles.
///
/// The format checks the subject alternative name (section 8.3.1); certificate policies have no effect here, because
/// none is required.
private struct AttestationExtensionsPolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [
        .X509ExtensionID.subjectAlternativeName, [2, 5, 29, 32], .X509ExtensionID.extendedKeyUsage,
    ]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async -> PolicyEvaluationResult {
        .meetsPolicy
    }
}
