internal import Crypto
public import WebAuthnModel

/// The server's state of an open login.
public struct AuthenticationCeremony: Sendable {
    /// The challenge; the server's store has to ensure that it is used for only one response.
    public let challenge: [UInt8]
    /// The allowed credentials; empty: any of the relying party's.
    public let allowedCredentials: [[UInt8]]
    /// Whether user verification is required.
    public let userVerification: UserVerificationRequirement

    /// Creates a ceremony.
    public init(
        challenge: [UInt8],
        allowedCredentials: [[UInt8]] = [],
        userVerification: UserVerificationRequirement = .required
    ) {
        self.challenge = challenge
        self.allowedCredentials = allowedCredentials
        self.userVerification = userVerification
    }
}

/// A verified login.
public struct Authentication: Sendable {
    /// The credential's record to store now: with the new counter and backup state (7.2 step 24).
    public let record: CredentialRecord
    /// The flags of the authenticator data.
    public let flags: AuthenticatorData.Flags
    /// Whether the credential's backup eligibility changed, and this was accepted.
    public let changedBackupEligibility: Bool
    /// The client data.
    public let clientData: CollectedClientData
}

extension RelyingParty {
    /// Verifies a login: WebAuthn Level 3, section 7.2, in its order.
    ///
    /// - Parameters:
    ///   - response: the client's response.
    ///   - ceremony: the open ceremony.
    ///   - record: the credential's record, which the caller found by `rawId`.
    ///   - userHandle: the user handle of the account that owns the record.
    ///   - isUserKnown: whether the account was known before the ceremony began, by a name or a session; then the
    ///     response needs no user handle (step 6).
    /// - Returns: the login, with the record to store.
    /// - Throws: ``WebAuthnError``.
    public func verify(
        _ response: AuthenticationResponse,
        for ceremony: AuthenticationCeremony,
        record: CredentialRecord,
        userHandle: [UInt8],
        isUserKnown: Bool
    ) throws(WebAuthnError) -> Authentication {
        // Step 5.
        guard ceremony.allowedCredentials.isEmpty || ceremony.allowedCredentials.contains(response.rawId)
        else {
            throw WebAuthnError(.credentialNotAllowed, "7.2 step 5", "not among the allowed ones")
        }
        // Step 6.
        guard record.id == response.rawId else {
            throw WebAuthnError(.credentialNotAllowed, "7.2 step 6", "another record")
        }
        if let handle = response.userHandle {
            guard handle == userHandle else {
                throw WebAuthnError(.credentialNotAllowed, "7.2 step 6", "userHandle is of another account")
            }
        } else if !isUserKnown {
            throw WebAuthnError(.credentialNotAllowed, "7.2 step 6", "no userHandle")
        }
        // Steps 8 to 14.
        let clientData = try check(
            clientDataJSON: response.clientDataJSON,
            type: "webauthn.get",
            challenge: ceremony.challenge,
            .authentication
        )
        // Steps 15 to 18.
        let data: AuthenticatorData
        do throws(AuthenticatorDataError) {
            data = try AuthenticatorData(parsing: response.authenticatorData)
        } catch {
            throw WebAuthnError(.malformedAuthenticatorData, "7.2 step 15", "\(error)")
        }
        try check(data, userPresence: true, userVerification: ceremony.userVerification, .authentication)
        // Step 19.
        let isEligible = data.flags.contains(.backupEligible)
        let changed = isEligible != record.backupEligible
        if changed, backupEligibilityChange == .refused || record.isHardwareBound {
            throw WebAuthnError(
                .backupEligibilityChanged,
                "7.2 step 19",
                "BE is \(isEligible ? "set" : "clear") now"
            )
        }
        // Steps 20 and 21.
        guard let key = try? COSEKey(parsing: record.publicKey), let verifier = SignatureKey(key) else {
            throw WebAuthnError(.malformedPublicKey, "7.2 step 21", "the record's key")
        }
        let message = response.authenticatorData + SHA256.hash(data: response.clientDataJSON)
        guard verifier.isValid(response.signature, for: message, algorithm: key.algorithm) else {
            throw WebAuthnError(.invalidSignature, "7.2 step 21", "not by the record's key")
        }
        // Step 22: an unchanged counter is refused, as FIDO's conformance cases require.
        guard
            signCounter == .comparedByCaller || data.signCount > record.signCount
                || (data.signCount == 0 && record.signCount == 0)
        else {
            throw WebAuthnError(
                .signCountNotGrown,
                "7.2 step 22",
                "\(data.signCount) after \(record.signCount)"
            )
        }
        // Step 24.
        var updated = record
        updated.signCount = data.signCount
        updated.backupEligible = isEligible
        updated.backupState = data.flags.contains(.backupState)
        updated.uvInitialized = record.uvInitialized || data.flags.contains(.userVerified)
        return Authentication(
            record: updated,
            flags: data.flags,
            changedBackupEligibility: changed,
            clientData: clientData
        )
    }
}
