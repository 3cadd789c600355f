internal import Crypto
public import WebAuthnModel

/// The server's state of an open registration.
public struct RegistrationCeremony: Sendable {
    /// The challenge; the server's store has to ensure that it is used for only one response.
    public let challenge: [UInt8]
    /// The requested algorithms.
    public let algorithms: [COSEAlgorithm]
    /// Whether user verification is required.
    public let userVerification: UserVerificationRequirement
    /// Whether user presence is required; false only for conditional mediation.
    public let userPresence: Bool

    /// Creates a ceremony.
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

/// A verified registration.
public struct Registration: Sendable {
    /// The record to store.
    ///
    /// Only the store can check whether its id is already registered (7.1 step 26).
    public let record: CredentialRecord
    /// The credential's public key.
    public let publicKey: COSEKey
    /// The authenticator's model (AAGUID); 16 bytes, all zero if unknown.
    public let aaguid: [UInt8]
    /// The flags of the authenticator data.
    public let flags: AuthenticatorData.Flags
    /// The attestation of the key.
    public let attestation: Attestation
    /// The steps of a TPM key's `authPolicy`, as reported by the client; a rule checks them against the signed value.
    public let keyPolicy: [PolicyStep]?
    /// The client data.
    public let clientData: CollectedClientData
}

extension RelyingParty {
    /// Verifies a registration: WebAuthn Level 3, section 7.1, in its order.
    ///
    /// - Parameters:
    ///   - response: the client's response.
    ///   - ceremony: the open ceremony.
    /// - Returns: the registration. The caller still has to check that the id is not registered (step 26).
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
        // Section 6.5.1: present if a credential was created.
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
        // Step 25 is a limit of the parser; the store does step 26. Step 27:
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
