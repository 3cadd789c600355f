/// All that servers keep, and all that they share: accounts, credentials, sessions, what is half done, limits, the audit.
///
/// Several processes work on one store at a time, and none keeps anything of its own. An operation is one use case and one
/// transaction: it happens as a whole or not at all, and when it returns, what it wrote is durable. Whoever calls says what
/// time it is. A refusal that a client could cause is a value that is returned, with its record in the audit written by
/// the same transaction; an error that is thrown says that nothing was done.
///
/// A login takes two: the ceremony is opened; it is consumed, and the login completed.
/// ```swift
/// try await store.openCeremony(ceremony, limits: [], now: now)
/// // … the client signs …
/// let login = try await store.completeLogin(by: ceremony.id, presenting: id, now: now) { taken throws(Refusal) in
///     // … all checks of the specification …
///     return completion
/// }
/// switch login { … }
/// ```
public protocol AccountStore: AdministrationStore, AttestationStore, AuditStore, CeremonyStore,
    CredentialStore,
    LimitStore, SessionStore, TransactionStore, UpkeepStore
{}

/// What one operation may do besides, all in the same transaction.
public enum Limits {
    /// As many sessions as an account has at most; the oldest ends when there is one more.
    public static let sessions = 10
    /// As many credentials as an account has at most.
    public static let credentials = 64
    /// How long a refresh token that was replaced is good once more, for a client that did not get the answer.
    public static let refreshGrace = Duration.seconds(30)
    /// As many transactions that wait for their owner as a list of them has at most.
    public static let pendingTransactions = 50
}
