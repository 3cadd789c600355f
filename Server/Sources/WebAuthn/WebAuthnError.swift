/// Why a ceremony is refused: what to act on, where the specification wants it, and a cause for the log.
///
/// Towards a client all failed checks of a login are one answer; reason and cause are for the audit record.
public struct WebAuthnError: Error, Sendable, CustomStringConvertible {
    /// What did not hold.
    public let reason: Reason
    /// The step of the ceremony, such as `7.2 step 12` (WebAuthn Level 3), or the section of an attestation format.
    public let step: String
    /// What was met; holds no secret.
    public let cause: String

    /// What did not hold.
    public enum Reason: String, Sendable, CaseIterable {
        /// The response is not of the form of section 5.1, or a member is missing or malformed.
        case malformedResponse
        /// `clientDataJSON` cannot be read.
        case malformedClientData
        /// The client data are of another ceremony.
        case wrongType
        /// The challenge is not the one of this ceremony.
        case wrongChallenge
        /// An origin that is not the relying party's.
        case wrongOrigin
        /// The call came from a frame of another origin, and that is not allowed.
        case crossOriginRefused
        /// The authenticator data cannot be read.
        case malformedAuthenticatorData
        /// The authenticator answered for another relying party.
        case wrongRPID
        /// Nobody was there (flag UP).
        case userNotPresent
        /// Nobody was verified (flag UV).
        case userNotVerified
        /// A credential says that it is backed up and may not be.
        case impossibleBackupState
        /// The credential's algorithm is not among those that were asked for, or not known here.
        case unsupportedAlgorithm
        /// The credential's public key cannot be read, or is no point of its curve.
        case malformedPublicKey
        /// The attestation object or its statement cannot be read.
        case malformedAttestation
        /// A format of attestation that is not known here.
        case unsupportedFormat
        /// The attestation statement does not prove what it claims.
        case invalidAttestation
        /// The attestation is valid, and leads to nobody who is trusted.
        case untrustedAttestation
        /// A rule of the relying party's own.
        case refusedByRule
        /// The credential is none of those that were asked for, or of another user.
        case credentialNotAllowed
        /// The signature is not of the credential's key.
        case invalidSignature
        /// The counter did not grow: there may be two copies of the key.
        case signCountNotGrown
        /// The credential changed whether it may be backed up.
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
