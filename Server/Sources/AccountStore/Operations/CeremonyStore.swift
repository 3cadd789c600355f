/// What is begun by one request and ended by another, once.
public protocol CeremonyStore: Sendable {
    /// The account of a name with its credentials, for the options of a login; nil: there is none.
    func loginAccount(username: String) async throws(StoreError) -> AccountWithCredentials?

    /// Keeps a ceremony until it is consumed or over.
    ///
    /// The limits are counted first, in the same transaction; when one is used up, the ceremony is not kept. May throw
    /// ``StoreError/Conflict/identifierTaken``.
    func openCeremony(
        _ ceremony: Ceremony,
        limits: [RateLimit],
        now: Timestamp
    ) async throws(StoreError) -> LimitVerdict

    /// Takes a ceremony away, before anything of the answer is verified: of two who want the same one, one gets it.
    ///
    /// Nil when it was consumed, is over or never was; it is gone then too. The credential that the answer is by is looked
    /// up on the way, with its account.
    func consumeCeremony(
        _ id: CeremonyID,
        presenting credential: CredentialID?,
        now: Timestamp
    ) async throws(StoreError) -> ConsumedCeremony?
}

/// An account and all of its credentials, the oldest first.
public struct AccountWithCredentials: Sendable, Equatable {
    /// The account.
    public let account: Account
    /// Its credentials, those that are suspended too.
    public let credentials: [Credential]

    /// Describes both.
    public init(account: Account, credentials: [Credential]) {
        self.account = account
        self.credentials = credentials
    }
}
