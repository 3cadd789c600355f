/// The credentials of accounts, and their passwords.
public protocol CredentialStore: Sendable {
    /// Registers a credential, and says which ones it suspended.
    ///
    /// Those of the same device (the same anchor or thumbprint) and account are suspended as superseded, and their sessions
    /// end, but not the one that asks. Throws ``StoreError/Conflict/credentialExists``,
    /// ``StoreError/Conflict/tooManyCredentials``, or ``StoreError/Code/notFound`` when the account is gone.
    func registerCredential(
        _ credential: Credential,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> [CredentialID]

    /// All credentials of an account, the oldest first.
    func credentials(of account: AccountID) async throws(StoreError) -> [Credential]

    /// One credential; nil: the account has none of that id.
    func credential(_ id: CredentialID, of account: AccountID) async throws(StoreError) -> Credential?

    /// Gives a credential another label.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func renameCredential(
        _ id: CredentialID,
        of account: AccountID,
        label: String,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Removes a credential; the sessions that it signed in end, but not the one that asks.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func removeCredential(
        _ id: CredentialID,
        of account: AccountID,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Suspends a credential, whose sessions end, or restores it (nil).
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func setSuspension(
        _ suspension: Credential.Suspension?,
        ofCredential id: CredentialID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Changes an account's password; all sessions end but the one that asks.
    ///
    /// `checked` is the hash that the old password was checked against (nil: the account had none); an administrator passes
    /// what is stored. Throws ``StoreError/Conflict/passwordChanged`` when it is not that any more, or
    /// ``StoreError/Code/notFound``.
    func changePassword(
        of account: AccountID,
        checked: String?,
        to password: PasswordRecord?,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)
}
