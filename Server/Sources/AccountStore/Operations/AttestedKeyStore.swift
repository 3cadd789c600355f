/// The attested keys of accounts that are no credentials.
public protocol AttestedKeyStore: Sendable {
    /// Stores a key.
    ///
    /// - Throws: ``StoreError/Conflict/credentialExists``, ``StoreError/Conflict/tooManyCredentials``, or
    ///   ``StoreError/Code/notFound`` when the account was deleted.
    func addAttestedKey(
        _ key: AttestedKey,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// The keys of an account, oldest first.
    func attestedKeys(of account: AccountID) async throws(StoreError) -> [AttestedKey]

    /// Removes a key.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func removeAttestedKey(
        _ id: AttestedKeyID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)
}
