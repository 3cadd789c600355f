internal import Crypto
public import WebAuthnModel

/// What a server remembers of a registration that it began.
public struct RegistrationCeremony: Sendable {
    /// The challenge; it is used for one response only, which the server's store has to see to.
    public let challenge: [UInt8]
    /// The algorithms that were asked for.
    public let algorithms: [COSEAlgorithm]
    /// Whether somebody has to be verified.
    public let userVerification: UserVerificationRequirement
    /// Whether somebody has to be there; false only where the client was asked with conditional mediation.
    public let userPresence: Bool

    /// Describes a ceremony.
    public init(
        challenge: [UInt8],
        algorithms: [COSEAlgorithm],
        userVerification: UserVerificationRequirement = .required,
        userPresence: Bool = true
    ) {
        self.challenge = challenge
        self.algorithms = algorithms
        self.userVerification = userVerification
        self.userPresence = userPresence
    }
}

/// A registration that passed every check.
public struct Registration: Sendable {
    /// What the server keeps.
    ///
    /// Whether its id is known already only the store can tell (7.1 step 26).
    public let record: CredentialRecord
    /// The credential's public key.
    public let publicKey: COSEKey
    /// The authenticator's model; 16 bytes, all zero where it is not told.
    public let aaguid: [UInt8]
    /// What the authenticator data said.
    public let flags: AuthenticatorData.Flags
    /// Who vouches for the key.
    public let attestation: Attestation
    /// What led to the `authPolicy` of a TPM's key, as the client says; checked by a rule against the signed value.
    public let keyPolicy: [PolicyStep]?
    /// What the client collected.
    public let clientData: CollectedClientData
}

extension RelyingParty {
    /// Verifies a registration: WebAuthn Level 3, section 7.1, in its order.
    ///
    /// - Parameters:
    ///   - response: what the client sent.
    ///   - ceremony: what was asked for.
    /// - Returns: what to keep. The caller still has to see that the id is not registered (step 26).
    /// - Throws: ``WebAuthnError``.
    public func verify(
        _ response: RegistrationResponse,
        for ceremony: RegistrationCeremony
    ) async throws(WebAuthnError) -> Registration {
        // Steps 5 to 11.
        let clientData = try check(
            clientDataJSON: response.clientDataJSON,
            type: "webauthn.create",
            challenge: ceremony.challenge,
            .registration
        )
        // Step 12.
        let clientDataHash = Array(SHA256.hash(data: response.clientDataJSON))
        // Step 13.
        let object = try AttestationObject(parsing: response.attestationObject)
        let data = object.authenticatorData
        // Steps 14 to 17.
        try check(
            data,
            userPresence: ceremony.userPresence,
            userVerification: ceremony.userVerification,
            .registration
        )
        // Section 6.5.1: there is a credential where one was made.
        guard let credential = data.attestedCredentialData else {
            throw WebAuthnError(.malformedAuthenticatorData, "7.1 step 13", "no attested credential data")
        }
        guard credential.credentialId == response.rawId else {
            throw WebAuthnError(.malformedResponse, "7.1 step 13", "rawId is not the credential's id")
        }
        // Step 20.
        let publicKey: COSEKey
        do throws(COSEKeyError) {
            publicKey = try COSEKey(parsing: credential.credentialPublicKey)
        } catch {
            if case .unsupportedAlgorithm(let algorithm) = error {
                throw WebAuthnError(.unsupportedAlgorithm, "7.1 step 20", "\(algorithm.rawValue)")
            }
            throw WebAuthnError(.malformedPublicKey, "7.1 step 13", "\(error)")
        }
        guard ceremony.algorithms.contains(publicKey.algorithm) else {
            throw WebAuthnError(.unsupportedAlgorithm, "7.1 step 20", "\(publicKey.algorithm.rawValue)")
        }
        guard let verifier = SignatureKey(publicKey) else {
            throw WebAuthnError(.malformedPublicKey, "7.1 step 20", "no key of its algorithm")
        }
        // Steps 21 and 22.
        let subject = AttestationSubject(
            authenticatorData: object.authenticatorDataBytes,
            clientDataHash: clientDataHash,
            rpIdHash: data.rpIdHash,
            credential: credential,
            publicKey: publicKey,
            verifier: verifier
        )
        let statement = try attestation.verify(object.format, object.statement, of: subject)
        // Steps 23, 24 and 28.
        let attestation = try await attestation.assess(statement)
        // Step 25 is a limit of the parser's; step 26 is the store's. Step 27:
        let registration = Registration(
            record: CredentialRecord(
                id: credential.credentialId,
                publicKey: credential.credentialPublicKey,
                signCount: data.signCount,
                transports: response.transports,
                uvInitialized: data.flags.contains(.userVerified),
                backupEligible: data.flags.contains(.backupEligible),
                backupState: data.flags.contains(.backupState),
                isHardwareBound: attestation.isHardwareBound
            ),
            publicKey: publicKey,
            aaguid: credential.aaguid,
            flags: data.flags,
            attestation: attestation,
            keyPolicy: response.keyPolicy,
            clientData: clientData
        )
        for rule in rules { try rule.check(registration) }
        return registration
    }
}
