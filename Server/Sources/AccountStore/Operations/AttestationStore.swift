/// The state of the attestation CA.
public protocol AttestationStore: Sendable {
    /// Stores an activation until the client returns the secret.
    ///
    /// - Throws: ``StoreError/Conflict/identifierTaken``.
    func openActivation(_ activation: Activation, now: Timestamp) async throws(StoreError)

    /// Removes an activation before the secret is compared; nil if it was consumed, has expired, or belongs to another
    /// account.
    func consumeActivation(
        _ id: ActivationID,
        of account: AccountID,
        now: Timestamp
    ) async throws(StoreError) -> Activation?

    /// Records the chip that holds a certified attestation key.
    func recordAttestationKey(
        _ key: AttestationKey,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// The attestation key of a certificate; nil: this CA did not issue it, or it has expired.
    func attestationKey(
        certificateDigest: [UInt8],
        now: Timestamp
    ) async throws(StoreError) -> AttestationKey?
}
