internal import AccountStore
internal import RelyingParty
internal import WebAuthnModel

/// Two new tokens: the texts for the client, the digests for the store.
struct NewTokens: Sendable {
    let access: OpaqueToken
    let refresh: OpaqueToken
    let accessExpiresAt: Timestamp

    init(lifetime: Int, now: Timestamp) {
        access = OpaqueToken(.access, at: now.milliseconds)
        refresh = OpaqueToken(.refresh, at: now.milliseconds)
        accessExpiresAt = now + .seconds(lifetime)
    }

    var pair: TokenPair {
        TokenPair(
            access: TokenDigest(access.digest),
            accessExpiresAt: accessExpiresAt,
            refresh: TokenDigest(refresh.digest)
        )
    }

    /// The members of ``reply(_:refresh:now:)`` that a session in cookies omits.
    static let secretMembers = ["access_token", "token_type", "refresh_token"]

    /// The API's *tokens*, the response to logins and refreshes.
    ///
    /// - Parameters:
    ///   - session: the session of the tokens.
    ///   - refresh: the refresh token that the client uses from now on.
    ///   - now: the current time, for `expires_in`.
    /// - Returns: the members of the response.
    func reply(_ session: Session, refresh: String, now: Timestamp) -> [(name: String, value: JSONValue)] {
        [
            ("access_token", .string(access.text)),
            ("token_type", "Bearer"),
            ("expires_in", .integer((accessExpiresAt - now).components.seconds)),
            ("refresh_token", .string(refresh)),
            ("refresh_bound", .bool(session.thumbprint != nil)),
            ("session_id", .string(Base64URL.encode(session.id.bytes))),
            ("acr", .string(session.acr)),
            ("amr", .array(session.amr.map { .string($0) })),
            ("auth_time", .integer(session.authTime.seconds)),
        ]
    }
}

extension Service {
    func newTokens(_ now: Timestamp) -> NewTokens {
        NewTokens(lifetime: configuration.accessTokenLifetime, now: now)
    }

    /// A new session, or a renewal of the session with an id.
    func newSession(
        id: SessionID? = nil,
        of account: AccountID,
        credential: CredentialID?,
        acr: String,
        amr: [String],
        thumbprint: [UInt8]?,
        client: String?,
        _ call: Call
    ) -> Session {
        Session(
            id: id ?? .random(),
            account: account,
            credential: credential,
            acr: acr,
            amr: amr,
            authTime: call.now,
            createdAt: call.now,
            lastUsedAt: call.now,
            expiresAt: call.now + .seconds(configuration.lifetime),
            idleLifetime: .seconds(configuration.idle),
            thumbprint: thumbprint,
            client: client ?? "",
            address: call.address
        )
    }
}
