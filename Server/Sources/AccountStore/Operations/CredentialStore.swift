/// The credentials and passwords of accounts.
public protocol CredentialStore: Sendable {
    /// Registers a credential, and returns it as it was stored: a label that another one has gets a number.
    ///
    /// Labels of superseded credentials are free, so that a device that is set up again keeps its own.
    /// Credentials of the same device (the same anchor or thumbprint) and account are suspended as superseded, and
    /// their sessions end, except the requesting session. Sessions with a ``SessionTask`` end in any case. Throws
    /// ``StoreError/Conflict/credentialExists``, ``StoreError/Conflict/tooManyCredentials``, or
    /// ``StoreError/Code/notFound`` when the account was deleted. If the requesting session has a `task`, it must not have ended
    /// (``StoreError/Conflict/sessionEnded``), so that of several requests of it one counts.
    func registerCredential(
        _ credential: Credential,
        keeping session: SessionID?,
        task: SessionTask?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> RegisteredCredential

    /// All credentials of an account, oldest first.
    func credentials(of account: AccountID) async throws(StoreError) -> [Credential]

    /// One credential; nil: the account has none with that id.
    func credential(_ id: CredentialID, of account: AccountID) async throws(StoreError) -> Credential?

    /// Changes the label of a credential.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func renameCredential(
        _ id: CredentialID,
        of account: AccountID,
        label: String,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Removes a credential and ends the sessions that it signed in, except the requesting one.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func removeCredential(
        _ id: CredentialID,
        of account: AccountID,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Suspends a credential and ends its sessions, or restores it (nil); a refused counter is then forgotten, and the
    /// next use sets it.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func setSuspension(
        _ suspension: Credential.Suspension?,
        ofCredential id: CredentialID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Restores a credential whose counter was refused, for its owner: the counter is forgotten, and the next use sets
    /// it.
    ///
    /// - Throws: ``StoreError/Conflict/suspendedForOtherReason``; ``StoreError/Code/notFound``.
    func restoreOwnCredential(
        _ id: CredentialID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Changes an account's password and ends all sessions except the requesting one, and that too if it has a
    /// ``SessionTask``.
    ///
    /// `checked` is the hash that the old password was checked against (nil: the account had none); an administrator
    /// passes the stored one. Throws ``StoreError/Conflict/passwordChanged`` when the stored hash differs by now,
    /// ``StoreError/Conflict/sessionEnded`` as ``registerCredential(_:keeping:task:audit:now:)`` does, or
    /// ``StoreError/Code/notFound``.
    func changePassword(
        of account: AccountID,
        checked: String?,
        to password: PasswordRecord?,
        keeping session: SessionID?,
        task: SessionTask?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)
}

extension CredentialStore {
    /// Registers a credential for an administrator, or a session without a task.
    public func registerCredential(
        _ credential: Credential,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> RegisteredCredential {
        try await registerCredential(credential, keeping: session, task: nil, audit: audit, now: now)
    }

    /// Changes a password for an administrator, or a session without a task.
    public func changePassword(
        of account: AccountID,
        checked: String?,
        to password: PasswordRecord?,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await changePassword(
            of: account,
            checked: checked,
            to: password,
            keeping: session,
            task: nil,
            audit: audit,
            now: now
        )
    }
}
