internal import CBOR
internal import Crypto
public import WebAuthnModel

/// A TPM's attestation of a `DeviceKey` of `Touchstone`, which is no credential: the format `touchstone-tpm2-key` of its
/// `KeyAttestation`, with the certificates of the chip's attestation key.
public struct DeviceKeyAttestation: Sendable {
    private static let step = "touchstone-tpm2-key"
    /// The longest part, in bytes.
    private static let mostBytes = 4096

    /// The public area of the key, TPMT_PUBLIC.
    let area: TPMPublicArea
    /// The steps that result in the key's `authPolicy`.
    let policy: [PolicyStep]
    /// The same as a statement of the format `tpm`.
    let statement: AttestationStatement

    /// Reads an attestation.
    ///
    /// - Parameters:
    ///   - json: The attestation's statement.
    ///   - certificates: Those of the attestation key, in DER, its own first.
    /// - Throws: ``WebAuthnError`` with `malformedAttestation` or `malformedResponse`.
    public init(_ json: JSONValue, certificates: [[UInt8]]) throws(WebAuthnError) {
        let members = json.object
        func bytes(_ name: String) throws(WebAuthnError) -> [UInt8] {
            guard let bytes = members?[name]?.bytes, 1...Self.mostBytes ~= bytes.count else {
                throw WebAuthnError(.malformedAttestation, Self.step, name)
            }
            return bytes
        }
        let publicArea = try bytes("publicArea")
        guard let area = try? TPMPublicArea(parsing: publicArea) else {
            throw WebAuthnError(.malformedAttestation, Self.step, "publicArea")
        }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes("signature")) else {
            throw WebAuthnError(.malformedAttestation, Self.step, "signature")
        }
        self.area = area
        policy = try PolicyTranscript.steps(members?["policy"] ?? .null)
        statement = try AttestationStatement([
            CBORPair(.text("ver"), .text("2.0")),
            CBORPair(.text("alg"), .integer(COSEAlgorithm.es256.rawValue)),
            CBORPair(.text("x5c"), .array(certificates.map { .bytes($0) })),
            CBORPair(.text("sig"), .bytes(Array(signature.derRepresentation))),
            CBORPair(.text("certInfo"), .bytes(try bytes("statement"))),
            CBORPair(.text("pubArea"), .bytes(publicArea)),
        ])
    }
}

/// A key that a trusted party's TPM attested for a purpose and a name.
public struct AttestedDeviceKey: Sendable {
    /// The public key on P-256, uncompressed X9.63.
    public let publicKey: [UInt8]
    /// The attestation.
    public let attestation: Attestation
}

extension RelyingParty {
    /// Verifies the attestation of a `DeviceKey` that was made for a challenge.
    ///
    /// The key has to be in the chip for good, every use of it has to satisfy a policy of these, and the attestation key has to be
    /// certified by a trust anchor.
    ///
    /// - Parameters:
    ///   - attestation: What the client sent.
    ///   - binding: The challenge, and what the key is said to be for.
    ///   - policy: The accepted policies of the key.
    /// - Returns: the key.
    /// - Throws: ``WebAuthnError``.
    public func verify(
        _ attestation: DeviceKeyAttestation,
        of binding: DeviceKeyBinding,
        policy: TPMKeyPolicy
    ) async throws(WebAuthnError) -> AttestedDeviceKey {
        let step = "touchstone-tpm2-key"
        guard let point = attestation.area.x963Representation, point.count == 65 else {
            throw WebAuthnError(.malformedPublicKey, step, "not on P-256")
        }
        let key = COSEKey.ec2(
            algorithm: .es256,
            curve: .p256,
            x: Array(point[1..<33]),
            y: Array(point[33...])
        )
        guard let verifier = SignatureKey(key) else {
            throw WebAuthnError(.malformedPublicKey, step, "no point of its curve")
        }
        // The chip signed the digest of the binding, as it signs that of authenticator data.
        let subject = AttestationSubject(
            authenticatorData: binding.message,
            clientDataHash: [],
            rpIdHash: [],
            credential: AttestedCredentialData(
                aaguid: [UInt8](repeating: 0, count: 16),
                credentialId: [],
                credentialPublicKey: []
            ),
            publicKey: key,
            verifier: verifier
        )
        var trust = self.attestation
        trust.acceptsUntrusted = false
        let verified = try await trust.assess(
            try TPMAttestation(acceptsSHA1: false).verify(attestation.statement, of: subject)
        )
        try HardwareBoundKey().check(verified)
        try policy.check(verified, attestation.policy)
        return AttestedDeviceKey(publicKey: point, attestation: verified)
    }
}
