/// Why a ceremony is refused: the reason, the step of the specification, and a cause for the log.
///
/// Clients get the same response for all failed checks of a login; reason and cause are for the audit record.
public struct WebAuthnError: Error, Sendable, CustomStringConvertible {
    /// The failed check.
    public let reason: Reason
    /// The step of the ceremony, such as `7.2 step 12` (WebAuthn Level 3), or the section of an attestation format.
    public let step: String
    /// The observed data; contains no secrets.
    public let cause: String

    /// The failed check.
    public enum Reason: String, Sendable, CaseIterable {
        /// The response is not of the form of section 5.1, or a member is missing or malformed.
        case malformedResponse
        /// `clientDataJSON` cannot be parsed.
        case malformedClientData
        /// The client data belong to another type of ceremony.
        case wrongType
        /// The challenge is not the one of this ceremony.
        case wrongChallenge
        /// The origin is not one of the relying party's.
        case wrongOrigin
        /// The call came from a frame of another origin, which is not allowed.
        case crossOriginRefused
        /// The authenticator data cannot be parsed.
        case malformedAuthenticatorData
        /// The authenticator data are for another relying party.
        case wrongRPID
        /// User presence was not tested (flag UP).
        case userNotPresent
        /// The user was not verified (flag UV).
        case userNotVerified
        /// A credential is marked as backed up but not as eligible for backup.
        case impossibleBackupState
        /// The credential's algorithm was not requested, or is not supported.
        case unsupportedAlgorithm
        /// The credential's public key cannot be parsed, or is not a point of its curve.
        case malformedPublicKey
        /// The attestation object or its statement cannot be parsed.
        case malformedAttestation
        /// The attestation format is not supported.
        case unsupportedFormat
        /// The attestation statement does not prove what it claims.
        case invalidAttestation
        /// The attestation is valid, but does not chain to a trust anchor.
        case untrustedAttestation
        /// A rule of the relying party refused the credential.
        case refusedByRule
        /// The credential is not an allowed one, or belongs to another user.
        case credentialNotAllowed
        /// The signature was not made by the credential's key.
        case invalidSignature
        /// The counter did not grow: there may be two copies of the key.
        case signCountNotGrown
        /// The credential's backup eligibility changed.
        case backupEligibilityChanged
    }

    /// Reason, step and cause in one line.
    public var description: String { "\(reason.rawValue) (\(step)): \(cause)" }

    init(_ reason: Reason, _ step: String, _ cause: String) {
        self.reason = reason
        self.step = step
        self.cause = cause
    }
}
