/// What the attestation CA keeps.
public protocol AttestationStore: Sendable {
    /// Keeps an activation until the client brings the secret back.
    ///
    /// - Throws: ``StoreError/Conflict/identifierTaken``.
    func openActivation(_ activation: Activation, now: Timestamp) async throws(StoreError)

    /// Takes an activation away, before the secret is compared; nil when it was taken, is over, or is another account's.
    func consumeActivation(
        _ id: ActivationID,
        of account: AccountID,
        now: Timestamp
    ) async throws(StoreError) -> Activation?

    /// Remembers in which chip a key is that got a certificate.
    func recordAttestationKey(
        _ key: AttestationKey,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// The key of a certificate; nil: it is none of this CA's, or over.
    func attestationKey(
        certificateDigest: [UInt8],
        now: Timestamp
    ) async throws(StoreError) -> AttestationKey?
}
