/// The credentials and passwords of accounts.
public protocol CredentialStore: Sendable {
    /// Registers a credential, and returns it as it was stored: a label that another one has gets a number.
    ///
    /// Labels of superseded credentials are free, so that a device that is set up again keeps its own.
    /// Credentials of the same device (the same anchor or thumbprint) and account are suspended as superseded, and
    /// their sessions end, except the requesting session; one of the same thumbprint that the device names as `replaced` stays, until
    /// the device removes it. Sessions with a ``SessionTask`` end in any case. Throws
    /// ``StoreError/Conflict/credentialExists``, ``StoreError/Conflict/tooManyCredentials``, or
    /// ``StoreError/Code/notFound`` when the account was deleted. If the requesting session has a `task`, it must not have ended
    /// (``StoreError/Conflict/sessionEnded``), so that of several requests of it one counts.
    func registerCredential(
        _ credential: Credential,
        keeping session: SessionID?,
        task: SessionTask?,
        replacing replaced: CredentialID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> RegisteredCredential

    /// Suspends a credential for the device that registered it, and ends its sessions; one that is suspended already stays as it is.
    ///
    /// - Parameters:
    ///   - id: the credential.
    ///   - thumbprint: the thumbprint of the session key that the device proved now, and at the registration.
    ///   - proof: the proof, which is valid once.
    ///   - reason: why.
    ///   - audit: the occasion; the store adds the account, and records it only for a credential that was not suspended.
    ///   - now: the current time.
    /// - Returns: whether the proof is new; nothing happens if it is not.
    /// - Throws: ``StoreError/Code/notFound``, also for a credential that was registered with another key.
    func endCredential(
        _ id: CredentialID,
        provedBy thumbprint: [UInt8],
        _ proof: ProofIdentifier,
        as reason: Credential.Suspension,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> ProofVerdict

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
    /// ``StoreError/Conflict/sessionEnded`` as ``registerCredential(_:keeping:task:replacing:audit:now:)`` does, or
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
    /// Registers a credential that replaces none.
    public func registerCredential(
        _ credential: Credential,
        keeping session: SessionID?,
        task: SessionTask? = nil,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> RegisteredCredential {
        try await registerCredential(
            credential,
            keeping: session,
            task: task,
            replacing: nil,
            audit: audit,
            now: now
        )
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
