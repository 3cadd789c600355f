internal import CBOR
internal import KeychainModel
internal import WebAuthnModel

/// An attestation statement of this device.
enum AttestationStatement {
    /// WebAuthn Level 3, section 8.7.
    case none
    /// Section 8.2, signed with the credential's own key: the authenticator data with the counter that was signed.
    case packed(data: [UInt8], signature: [UInt8])
    /// Section 8.3, signed with the chip's attestation key.
    case tpm(KeyCertification, signature: [UInt8], certificates: [[UInt8]])

    /// Makes the attestation, with the chip if possible, else with the key itself.
    ///
    /// - Parameters:
    ///   - use: the key, and how its user was verified.
    ///   - data: the authenticator data.
    ///   - clientDataHash: SHA-256 of the client data.
    ///   - certificates: the certificates of the chip's attestation key; empty for none.
    /// - Throws: ``KeychainError``, as signing does.
    init(
        of use: VerifiedUse,
        over data: AuthenticatorData,
        _ clientDataHash: [UInt8],
        _ certificates: [[UInt8]]
    ) throws(KeychainError) {
        if use.key.isHardware, !certificates.isEmpty,
            let evidence = try use.attest(DeviceAuthenticator.hash(data.encoded + clientDataHash))
        {
            let certification = evidence.certification
            let signature = try ECDSASignature.der(certification.signature)
            self = .tpm(certification, signature: signature, certificates: certificates)
        } else {
            let signed = try use.sign(data, clientDataHash)
            self = .packed(data: signed.data, signature: try ECDSASignature.der(signed.signature))
        }
    }

    /// The policy steps that result in the key's `authPolicy`.
    var policy: [PolicyStep]? {
        guard case .tpm(let certification, _, _) = self else { return nil }
        return certification.policy
    }

    /// The attestation object with the given authenticator data, or with those that were signed.
    func object(_ data: AuthenticatorData) -> [UInt8] {
        var data = data.encoded
        let algorithm = CBORPair(.text("alg"), .integer(COSEAlgorithm.es256.rawValue))
        let format: String
        let members: [CBORPair]
        switch self {
        case .none: (format, members) = ("none", [])
        case .packed(let signed, let signature):
            data = signed
            (format, members) = ("packed", [algorithm, CBORPair(.text("sig"), .bytes(signature))])
        case .tpm(let certification, let signature, let certificates):
            format = "tpm"
            members = [
                algorithm, CBORPair(.text("ver"), .text("2.0")), CBORPair(.text("sig"), .bytes(signature)),
                CBORPair(.text("x5c"), .array(certificates.map { .bytes($0) })),
                CBORPair(.text("certInfo"), .bytes(certification.statement)),
                CBORPair(.text("pubArea"), .bytes(certification.publicArea)),
            ]
        }
        return CBORValue.map([
            CBORPair(.text("fmt"), .text(format)), CBORPair(.text("attStmt"), .map(members)),
            CBORPair(.text("authData"), .bytes(data)),
        ]).encoded()
    }
}
