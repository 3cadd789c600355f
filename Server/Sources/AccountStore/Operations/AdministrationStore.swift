/// What administrators do.
public protocol AdministrationStore: Sendable {
    /// Makes an account.
    ///
    /// - Throws: ``StoreError/Conflict/usernameTaken``, ``StoreError/Conflict/accountExists``.
    func createAccount(_ account: Account, audit: AuditEvent, now: Timestamp) async throws(StoreError)

    /// An account by its id; nil: there is none.
    func account(_ id: AccountID) async throws(StoreError) -> Account?

    /// An account by its name; nil: there is none.
    func account(username: String) async throws(StoreError) -> Account?

    /// Accounts in the order of their names' bytes.
    func accounts(after username: String, count: Int) async throws(StoreError) -> [Account]

    /// Gives an account other names.
    ///
    /// - Throws: ``StoreError/Conflict/usernameTaken``; ``StoreError/Code/notFound``.
    func renameAccount(
        _ id: AccountID,
        username: String,
        displayName: String,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Keeps an account shut, and its sessions end, or opens it.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func setLocked(
        _ locked: Bool,
        account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Deletes an account with all it has, but not its audit.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func deleteAccount(_ id: AccountID, audit: AuditEvent, now: Timestamp) async throws(StoreError)

    /// Keeps the one-time token that lets the first administrator in; one that was kept before is worth nothing any more.
    ///
    /// - Returns: nothing is kept when there is an administrator's token already.
    func offerFirstAdmin(_ token: TokenDigest, expiresAt: Timestamp, now: Timestamp) async throws(StoreError)
        -> FirstAdminOffer

    /// Takes the one-time token for an administrator's token, once.
    ///
    /// - Throws: ``StoreError/Code/notFound`` when it is not the one that was offered, was used, or is over.
    func redeemFirstAdmin(
        _ token: TokenDigest,
        for admin: AdminToken,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Adds an administrator's token.
    ///
    /// - Throws: ``StoreError/Conflict/identifierTaken``.
    func addAdminToken(_ token: AdminToken, audit: AuditEvent, now: Timestamp) async throws(StoreError)

    /// An administrator's token; nil: there is none, or it is over.
    func adminToken(_ digest: TokenDigest, now: Timestamp) async throws(StoreError) -> AdminToken?

    /// All administrators' tokens, the oldest first.
    func adminTokens() async throws(StoreError) -> [AdminToken]

    /// Removes an administrator's token.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func removeAdminToken(_ digest: TokenDigest, audit: AuditEvent, now: Timestamp) async throws(StoreError)
}

/// Whether the first administrator can come in.
public enum FirstAdminOffer: Sendable, Equatable {
    /// With the token that is kept now.
    case offered
    /// There is one.
    case alreadyThere
}
