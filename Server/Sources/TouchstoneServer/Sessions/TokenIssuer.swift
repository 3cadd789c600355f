internal import AccountStore
internal import RelyingParty
internal import WebAuthnModel

/// The members `resource` and `scope` of a request for tokens.
struct WantedAudience: Sendable {
    let resource: String?
    let scope: String?
}

/// Two new tokens: the texts for the client, the digests for the store.
struct NewTokens: Sendable {
    /// The access token, or what the identifier of a signed one is the digest of.
    let access: OpaqueToken
    let refresh: OpaqueToken
    let accessExpiresAt: Timestamp
    /// What the access token opens; nil: the account's API of this server.
    let grant: AudienceGrant?
    /// The audience of the grant.
    private let audience: Audiences.Audience?
    /// What signs the access token; nil: it is opaque.
    private let signer: Signer?

    /// What a signed access token needs that the session does not have.
    struct Signer: Sendable {
        let key: TokenSigningKey
        let issuer: String
    }

    init(
        _ grant: AudienceGrant?,
        _ audience: Audiences.Audience?,
        _ signer: Signer?,
        lifetime: Int,
        now: Timestamp
    ) {
        self.grant = grant
        self.audience = audience
        self.signer = signer
        access = OpaqueToken(.access, at: now.milliseconds)
        refresh = OpaqueToken(.refresh, at: now.milliseconds)
        accessExpiresAt = now + .seconds(lifetime)
    }

    var pair: TokenPair {
        TokenPair(
            access: TokenDigest(access.digest),
            accessExpiresAt: accessExpiresAt,
            grant: grant,
            needsKey: audience?.isBound ?? false,
            refresh: TokenDigest(refresh.digest)
        )
    }

    /// The members of ``reply(_:now:)`` that a session in cookies omits.
    static let secretMembers = ["access_token", "token_type", "refresh_token"]

    /// The API's *tokens*, the response to logins and refreshes.
    ///
    /// - Parameters:
    ///   - session: the session of the tokens.
    ///   - now: the current time, for `expires_in`.
    /// - Returns: the members of the response.
    /// - Throws: an error of the signature, which is a defect.
    func reply(_ session: Session, now: Timestamp) throws -> [(name: String, value: JSONValue)] {
        [
            ("access_token", .string(try signer.map { try signed(session, $0, now) } ?? access.text)),
            ("token_type", .string((audience?.type ?? .bearer).rawValue)),
            ("expires_in", .integer((accessExpiresAt - now).components.seconds)),
        ] + (grant.map { [("scope", .string($0.scopeText))] } ?? []) + [
            ("refresh_token", .string(refresh.text)),
            ("refresh_bound", .bool(session.thumbprint != nil)),
            ("sub", JSONValue(base64URL: session.account.bytes)),
            ("session_id", .string(Base64URL.encode(session.id.bytes))),
            ("acr", .string(session.acr)),
            ("amr", .array(session.amr.map { .string($0) })),
            ("auth_time", .integer(session.authTime.seconds)),
        ] + (session.task.map { [("task", .string($0.rawValue))] } ?? [])
    }

    /// The access token as a JWT: RFC 9068, section 2.2; `cnf` is of RFC 9449, section 6.1.
    private func signed(_ session: Session, _ signer: Signer, _ now: Timestamp) throws -> String {
        let thumbprint = audience?.isBound == true ? session.thumbprint : nil
        return try signer.key.token(
            JSONValue(members: [
                "iss": .string(signer.issuer),
                "sub": JSONValue(base64URL: session.account.bytes),
                "aud": grant.map { .string($0.audience) },
                "client_id": .string(Self.clientID),
                "exp": .integer(min(accessExpiresAt, session.expiresAt).seconds),
                "iat": .integer(now.seconds),
                "jti": JSONValue(base64URL: access.digest),
                "scope": grant.flatMap { $0.scope.isEmpty ? nil : .string($0.scopeText) },
                "sid": JSONValue(base64URL: session.id.bytes),
                "acr": .string(session.acr),
                "amr": .array(session.amr.map { .string($0) }),
                "auth_time": .integer(session.authTime.seconds),
                "cnf": thumbprint.map { ["jkt": JSONValue(base64URL: $0)] },
            ])
        )
    }

    /// The client of every token: no client is registered, and all apps are the account's own.
    private static let clientID = "account"
}

extension Service {
    /// New tokens, whose access token opens what a client asked for.
    ///
    /// - Throws: ``StoreError`` when the key of a signed token cannot be published.
    func newTokens(_ grant: AudienceGrant?, _ now: Timestamp) async throws(StoreError) -> NewTokens {
        let audience = grant.flatMap { audiences.audience(of: $0) }
        let lifetime = audience?.lifetime ?? configuration.accessTokenLifetime
        var signer: NewTokens.Signer?
        if audience?.format == .jwt {
            let key = try await tokenSigner.key(
                until: now + .seconds(lifetime),
                now: now,
                publish: store.publish
            )
            signer = NewTokens.Signer(key: key, issuer: configuration.publicURL)
        }
        return NewTokens(grant, audience, signer, lifetime: lifetime, now: now)
    }

    /// What a client asks for by `resource` and `scope`.
    ///
    /// - Throws: ``Problem`` with `invalid_target` or `invalid_scope`.
    func grant(_ wanted: WantedAudience, for form: SessionForm) throws(Problem) -> AudienceGrant? {
        let grant = try audiences.grant(resource: wanted.resource, scope: wanted.scope)
        guard grant == nil || form == .tokens else {
            throw Problem(.invalidTarget, "a session in cookies opens the account's API alone")
        }
        return grant
    }

    /// Requires a session's key for a grant of tokens that are bound to it, before anything is counted as a failure.
    ///
    /// - Throws: ``Problem`` with `invalid_dpop_proof`.
    func requireKey(_ thumbprint: [UInt8]?, for grant: AudienceGrant?) throws(Problem) {
        guard thumbprint == nil, let grant, audiences.audience(of: grant)?.isBound == true else { return }
        throw .noKey
    }

    /// A new session, or a renewal of the session with an id; one with a task lasts ``Limits/limitedSession``.
    func newSession(
        id: SessionID? = nil,
        of account: AccountID,
        credential: CredentialID?,
        acr: String,
        amr: [String],
        thumbprint: [UInt8]?,
        client: String?,
        task: SessionTask? = nil,
        assurance: ProvenAssurance = .password,
        _ call: Call
    ) -> Session {
        let lifetime = task == nil ? .seconds(configuration.lifetime) : Limits.limitedSession
        return Session(
            id: id ?? .random(),
            account: account,
            credential: credential,
            acr: acr,
            amr: amr,
            authTime: call.now,
            createdAt: call.now,
            lastUsedAt: call.now,
            expiresAt: call.now + lifetime,
            idleLifetime: .seconds(configuration.idle),
            thumbprint: thumbprint,
            client: client ?? "",
            address: call.address,
            task: task,
            assurance: assurance.words
        )
    }
}
