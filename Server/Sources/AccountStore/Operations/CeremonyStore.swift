/// Ceremonies, which one request opens and another consumes, once.
public protocol CeremonyStore: Sendable {
    /// The account with a name and its credentials, for the options of a login; nil: it does not exist.
    func loginAccount(username: String) async throws(StoreError) -> AccountWithCredentials?

    /// Stores a ceremony until it is consumed or expires.
    ///
    /// The limits are counted first, in the same transaction; when one is exceeded, or the failures are (nil: they do
    /// not matter), the ceremony is not stored. May throw ``StoreError/Conflict/identifierTaken``.
    func openCeremony(
        _ ceremony: Ceremony,
        limits: [RateLimit],
        failures: FailureLimit?,
        now: Timestamp
    ) async throws(StoreError) -> LimitVerdict

    /// Removes a ceremony before its response is verified: of two concurrent requests, one gets it.
    ///
    /// Nil when it was consumed, has expired or never existed; an expired one is removed too. The same operation looks
    /// up the responding credential with its account.
    func consumeCeremony(
        _ id: CeremonyID,
        presenting credential: CredentialID?,
        now: Timestamp
    ) async throws(StoreError) -> ConsumedCeremony?
}

extension CeremonyStore {
    /// Stores a ceremony for which earlier failures do not matter.
    public func openCeremony(
        _ ceremony: Ceremony,
        limits: [RateLimit],
        now: Timestamp
    ) async throws(StoreError) -> LimitVerdict {
        try await openCeremony(ceremony, limits: limits, failures: nil, now: now)
    }
}

/// An account and all its credentials, oldest first.
public struct AccountWithCredentials: Sendable, Equatable {
    /// The account.
    public let account: Account
    /// Its credentials, including suspended ones.
    public let credentials: [Credential]

    /// Creates the pair.
    public init(account: Account, credentials: [Credential]) {
        self.account = account
        self.credentials = credentials
    }
}
