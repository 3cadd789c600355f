/// The operations of administrators.
public protocol AdministrationStore: Sendable {
    /// Creates an account.
    ///
    /// - Throws: ``StoreError/Conflict/usernameTaken``, ``StoreError/Conflict/accountExists``.
    func createAccount(_ account: Account, audit: AuditEvent, now: Timestamp) async throws(StoreError)

    /// An account by its id; nil: it does not exist.
    func account(_ id: AccountID) async throws(StoreError) -> Account?

    /// An account by its name; nil: it does not exist.
    func account(username: String) async throws(StoreError) -> Account?

    /// Accounts in the byte order of their names.
    func accounts(after username: String, count: Int) async throws(StoreError) -> [Account]

    /// Renames an account.
    ///
    /// - Throws: ``StoreError/Conflict/usernameTaken``; ``StoreError/Code/notFound``.
    func renameAccount(
        _ id: AccountID,
        username: String,
        displayName: String,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Locks an account and ends its sessions and links, or unlocks it.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func setLocked(
        _ locked: Bool,
        account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Deletes an account with all its data except its audit.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func deleteAccount(_ id: AccountID, audit: AuditEvent, now: Timestamp) async throws(StoreError)

    /// Stores the one-time token for the first administrator; it replaces an earlier one.
    ///
    /// - Returns: nothing is stored if a token of an administrator who may do everything exists already.
    func offerFirstAdmin(_ token: TokenDigest, expiresAt: Timestamp, now: Timestamp) async throws(StoreError)
        -> FirstAdminOffer

    /// Exchanges the one-time token for an administrator's token, once.
    ///
    /// - Throws: ``StoreError/Code/notFound`` when it is not the offered token, was used, or has expired.
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

    /// An administrator's token; nil: it does not exist, or has expired.
    func adminToken(_ digest: TokenDigest, now: Timestamp) async throws(StoreError) -> AdminToken?

    /// All administrators' tokens, oldest first.
    func adminTokens() async throws(StoreError) -> [AdminToken]

    /// Removes an administrator's token.
    ///
    /// - Throws: ``StoreError/Code/notFound``.
    func removeAdminToken(_ digest: TokenDigest, audit: AuditEvent, now: Timestamp) async throws(StoreError)
}

/// Whether the first administrator can sign in.
public enum FirstAdminOffer: Sendable, Equatable {
    /// With the token stored now.
    case offered
    /// An administrator who may do everything exists already.
    case alreadyThere
}
