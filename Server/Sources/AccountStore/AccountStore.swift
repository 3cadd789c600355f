/// The shared state of all server processes: accounts, credentials, sessions, pending ceremonies, limits, the audit.
///
/// Several processes use one store at a time, and none keeps state of its own. An operation is one use case and one
/// transaction: it happens completely or not at all, and what it wrote is durable when it returns. The caller passes
/// the current time. A refusal that a client can cause is a returned value, and the same transaction writes its audit
/// record; a thrown error means that nothing was done.
///
/// A login takes two operations: opening the ceremony, then consuming it and completing the login.
/// ```swift
/// try await store.openCeremony(ceremony, limits: [], now: now)
/// // … the client signs …
/// let login = try await store.completeLogin(by: ceremony.id, presenting: id, now: now) { taken throws(Refusal) in
///     // … all checks of the specification …
///     return completion
/// }
/// switch login { … }
/// ```
public protocol AccountStore: AdministrationStore, AttestationStore, AttestedKeyStore, AuditStore,
    CeremonyStore,
    CredentialStore,
    LimitStore, NoticeStore, RecoveryStore, SessionStore, TokenKeyStore, TransactionStore, UpkeepStore
{}

/// The limits that operations enforce, in the same transaction.
public enum Limits {
    /// The maximum number of sessions of an account; one more ends the oldest.
    public static let sessions = 10
    /// The maximum number of credentials of an account.
    public static let credentials = 64
    /// The maximum number of attested keys of an account that are no credentials.
    public static let attestedKeys = 64
    /// How long a replaced refresh token remains usable, while no successor was used, for a client that did not get the response.
    public static let refreshGrace = Duration.seconds(30)
    /// The same for a token that is bound to a key, whose client may have ended before it stored the successor.
    public static let boundRefreshGrace = Duration.seconds(86_400)
    /// The maximum number of pending transactions in a list.
    public static let pendingTransactions = 50
    /// The maximum number of transactions in an account's export.
    public static let exportedTransactions = 1000
    /// How many recovery codes a user gets at a time.
    public static let recoveryCodes = 10
    /// How long a session with a ``SessionTask`` lasts.
    public static let limitedSession = Duration.seconds(900)
}
