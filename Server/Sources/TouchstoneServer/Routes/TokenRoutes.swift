internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// The OAuth endpoints: refresh (RFC 6749, section 6), revocation (RFC 7009), introspection (RFC 7662).
enum TokenRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/v1/token", "token", .open, hasOAuthErrors: true, takesDPoP: true, handle: refresh),
        Operation(.post, "/v1/revoke", "revoke", .open, hasOAuthErrors: true, handle: revoke),
        Operation(
            .post,
            "/v1/introspect",
            "introspect",
            .serviceOrForm,
            hasOAuthErrors: true,
            handle: introspect
        ),
    ]

    private static func refresh(_ service: Service, _ call: Call) async throws -> Reply {
        let form = try await BodyReader.form(of: call.request)
        guard let grant = form["grant_type"] else {
            throw OAuthProblem(.invalidRequest, "grant_type is missing")
        }
        guard grant == "refresh_token" else { throw OAuthProblem(.unsupportedGrantType) }
        let session: SessionForm = form["refresh_token"] == nil ? .cookie : .tokens
        guard let text = form["refresh_token"] ?? service.cookies.token(.refresh, in: call.request) else {
            throw OAuthProblem(.invalidRequest, "refresh_token is missing")
        }
        if session == .cookie { try service.requireListedOrigin(call.request) }
        let proof: VerifiedProof?
        do { proof = try service.proof(of: call) } catch {
            service.metrics.refresh("dpop_failed")
            throw error
        }
        guard let token = OpaqueToken(text, .refresh) else {
            service.metrics.refresh("unknown_token")
            throw OAuthProblem(.invalidGrant)
        }
        let tokens = service.newTokens(call.now)
        let outcome = try await service.store.refresh(
            RefreshRequest(
                token: TokenDigest(token.digest),
                thumbprint: proof?.thumbprint,
                proof: proof?.identifier,
                tokens: tokens.pair,
                audit: call.event(.sessionRenewed, reason: "refresh_token"),
                now: call.now
            )
        )
        switch outcome {
        case .renewed(let renewed, let rotated):
            service.metrics.refresh(rotated ? "rotated" : "renewed")
            return service.reply(tokens, renewed, refresh: rotated ? nil : text, as: session, call)
        case .refused(let refusal):
            service.metrics.refresh(refusal.rawValue)
            switch refusal {
            case .otherKey where proof == nil:
                throw OAuthProblem(.invalidDPoPProof, "the refresh token is bound to a key")
            case .proofReplayed: throw OAuthProblem(.invalidDPoPProof, "replayed")
            case .unknownToken, .expired, .reused, .otherKey, .accountLocked:
                throw OAuthProblem(.invalidGrant)
            }
        }
    }

    /// The token of a text, if any: the prefix tells the kind, so that no hint is needed.
    private static func token(_ text: String) -> (TokenDigest, TokenKind)? {
        if let token = OpaqueToken(text, .access) { return (TokenDigest(token.digest), .access) }
        if let token = OpaqueToken(text, .refresh) { return (TokenDigest(token.digest), .refresh) }
        return nil
    }

    private static func revoke(_ service: Service, _ call: Call) async throws -> Reply {
        let form = try await BodyReader.form(of: call.request)
        guard let text = form["token"] else { throw OAuthProblem(.invalidRequest, "token is missing") }
        if let (digest, kind) = token(text) {
            try await service.store.revoke(digest, kind, audit: call.event(.tokenRevoked), now: call.now)
        }
        // An unknown token is invalid already, which was the purpose of the request (RFC 7009, section 2.2).
        return .json([:])
    }

    private static func introspect(_ service: Service, _ call: Call) async throws -> Reply {
        let form = try await BodyReader.form(of: call.request)
        _ = try service.callingService(call, form)
        guard let text = form["token"] else { throw OAuthProblem(.invalidRequest, "token is missing") }
        guard let (digest, kind) = token(text),
            let live = try await service.store.liveSession(digest, kind, now: call.now)
        else { return .json(["active": false]) }
        let session = live.session
        // An access token is not bound, so it gets no `cnf` (RFC 9449, section 6.2).
        let thumbprint = kind == .refresh ? session.thumbprint : nil
        return .json(
            JSONValue(members: [
                "active": true,
                "iss": .string(service.configuration.publicURL),
                "sub": JSONValue(base64URL: session.account.bytes),
                "username": .string(live.account.username),
                "sid": JSONValue(base64URL: session.id.bytes),
                "token_type": kind == .access ? "Bearer" : "refresh_token",
                "acr": .string(session.acr),
                "amr": .array(session.amr.map { .string($0) }),
                "auth_time": .integer(session.authTime.seconds),
                "exp": .integer(live.tokenExpiresAt.seconds),
                "cnf": thumbprint.map { ["jkt": JSONValue(base64URL: $0)] },
            ])
        )
    }
}
