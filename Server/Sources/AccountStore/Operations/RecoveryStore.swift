/// Links and recovery codes, by which owners get into their accounts without a credential.
///
/// They are used by ``SessionStore/completeLogin(_:)`` (``LoginCompletion/Method/link(_:)``,
/// ``LoginCompletion/Method/recoveryCode(_:_:)``), once.
public protocol RecoveryStore: Sendable {
    /// Stores a link; it replaces one of the same kind.
    ///
    /// - Returns: nothing is stored for a locked account.
    /// - Throws: ``StoreError/Code/notFound`` when the account does not exist.
    func issue(_ link: AccountLink, audit: AuditEvent, now: Timestamp) async throws(StoreError) -> LinkIssue

    /// A link that can be used; nil: it does not exist, was used, replaced or revoked, or has expired.
    func link(_ digest: TokenDigest, now: Timestamp) async throws(StoreError) -> AccountLink?

    /// The links of an account that can be used, oldest first.
    func links(of account: AccountID, now: Timestamp) async throws(StoreError) -> [AccountLink]

    /// Revokes a link.
    ///
    /// - Throws: ``StoreError/Code/notFound`` when the account has no such link.
    func revokeLink(
        _ digest: TokenDigest,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Replaces an account's recovery codes.
    ///
    /// - Parameters:
    ///   - digests: the digests of the new codes.
    ///   - account: the account.
    ///   - audit: the event.
    ///   - now: the current time.
    /// - Throws: ``StoreError/Code/notFound`` when the account does not exist.
    func replaceRecoveryCodes(
        by digests: [[UInt8]],
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// An account's recovery codes.
    func recoveryCodes(of account: AccountID) async throws(StoreError) -> RecoveryCodes
}

/// Whether a link was stored.
public enum LinkIssue: Sendable, Equatable {
    /// It was.
    case issued
    /// The account is locked, so that the link would open nothing.
    case accountLocked
}
