internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import RelyingParty
internal import WebAuthnModel

/// The OAuth endpoints for clients: refresh (RFC 6749, section 6) and revocation (RFC 7009).
enum TokenRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/v1/token", "token", .open, hasOAuthErrors: true, takesDPoP: true, handle: refresh),
        Operation(.post, "/v1/revoke", "revoke", .open, hasOAuthErrors: true, handle: revoke),
    ]

    private static func refresh(_ service: Service, _ call: Call) async throws -> Reply {
        let form = try await BodyReader.form(of: call.request)
        guard let type = form["grant_type"] else {
            throw OAuthProblem(.invalidRequest, "grant_type is missing")
        }
        guard type == "refresh_token" else { throw OAuthProblem(.unsupportedGrantType) }
        let session: SessionForm = form["refresh_token"] == nil ? .cookie : .tokens
        guard let text = form["refresh_token"] ?? service.cookies.token(.refresh, in: call.request) else {
            throw OAuthProblem(.invalidRequest, "refresh_token is missing")
        }
        if session == .cookie { try service.requireListedOrigin(call.request) }
        let grant = try service.grant(
            WantedAudience(resource: form["resource"], scope: form["scope"]),
            for: session
        )
        let proof: VerifiedProof?
        do { proof = try service.proof(of: call) } catch {
            service.metrics.refresh("dpop_failed")
            throw error
        }
        guard let token = OpaqueToken(text, .refresh) else {
            service.metrics.refresh("unknown_token")
            throw OAuthProblem(.invalidGrant)
        }
        let tokens = try await service.newTokens(grant, call.now)
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
        case .renewed(let renewed):
            service.metrics.refresh("rotated")
            return try service.reply(tokens, renewed, as: session, call)
        case .refused(let refusal):
            service.metrics.refresh(refusal.rawValue)
            switch refusal {
            case .otherKey where proof == nil:
                throw OAuthProblem(.invalidDPoPProof, "the refresh token is bound to a key")
            case .proofReplayed: throw OAuthProblem(.invalidDPoPProof, "replayed")
            case .noKey: throw OAuthProblem(.noKey)
            case .unknownToken, .expired, .reused, .otherKey, .accountLocked, .limitedSession:
                throw OAuthProblem(.invalidGrant)
            }
        }
    }

    private static func revoke(_ service: Service, _ call: Call) async throws -> Reply {
        let form = try await BodyReader.form(of: call.request)
        guard let text = form["token"] else { throw OAuthProblem(.invalidRequest, "token is missing") }
        if let (digest, kind) = try await service.token(text, call) {
            try await service.store.revoke(digest, kind, audit: call.event(.tokenRevoked), now: call.now)
        }
        // An unknown token is invalid already, which was the purpose of the request (RFC 7009, section 2.2).
        return .json([:])
    }
}
