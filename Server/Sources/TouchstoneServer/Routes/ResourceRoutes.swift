internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import RelyingParty
internal import WebAuthnModel

/// What services ask of the access tokens that clients show them: introspection (RFC 7662), and the same for proxies that only
/// look at the status.
enum ResourceRoutes {
    static let operations: [Operation] = [
        Operation(
            .post,
            "/v1/introspect",
            "introspect",
            .serviceOrForm,
            hasOAuthErrors: true,
            handle: introspect
        ),
        Operation(.get, "/v1/check", "check", .open, handle: check),
    ]

    private static func introspect(_ service: Service, _ call: Call) async throws -> Reply {
        let form = try await BodyReader.form(of: call.request)
        let caller = try service.callingService(call, form)
        guard let text = form["token"] else { throw OAuthProblem(.invalidRequest, "token is missing") }
        guard let (live, kind, type) = try await service.liveSession(text, shownTo: caller, call) else {
            return .json(["active": false])
        }
        let session = live.session
        // RFC 9449, section 6.2.
        let thumbprint = kind == .refresh || type == .dpop ? session.thumbprint : nil
        return .json(
            JSONValue(members: [
                "active": true,
                "iss": .string(service.configuration.publicURL),
                "sub": JSONValue(base64URL: session.account.bytes),
                "username": .string(live.account.username),
                "aud": live.grant.map { .string($0.audience) },
                "scope": live.grant.map { .string($0.scopeText) },
                "sid": JSONValue(base64URL: session.id.bytes),
                "token_type": kind == .access ? .string(type.rawValue) : "refresh_token",
                "acr": .string(session.acr),
                "amr": .array(session.amr.map { .string($0) }),
                "auth_time": .integer(session.authTime.seconds),
                "exp": .integer(live.tokenExpiresAt.seconds),
                "cnf": thumbprint.map { ["jkt": JSONValue(base64URL: $0)] },
            ])
        )
    }

    /// For a proxy: the client's `Authorization` as it came, the service's own in `Service-Authorization`, what the token needs in the
    /// query.
    private static func check(_ service: Service, _ call: Call) async throws -> Reply {
        let request = call.request
        guard let own = request.headers[.serviceAuthorization].flatMap(ServiceCredentials.init(field:)),
            let caller = service.serviceSecrets.service(with: own)
        else {
            // Not 401 or 403: a proxy would pass them on, as if the client's token was at fault.
            throw Problem(.invalidRequest, "Service-Authorization has no service's secret")
        }
        let wanted = try words("scope", call)
        let classes = try words("acr_values", call)
        let maxAge = try call.query("max_age").map { text throws(Problem) in
            guard let age = Int(text), age >= 0 else {
                throw Problem(.invalidRequest, "max_age is a number of seconds")
            }
            return age
        }
        let shown = ServiceCredentials(request)
        guard case .bearer(let text)? = shown else { throw Problem.invalidToken(wasShown: shown != nil) }
        // A token that is bound to a key needs a proof for the proxy's URL, which only the proxy can verify.
        guard let (live, kind, type) = try await service.liveSession(text, shownTo: caller, call),
            kind == .access, type == .bearer
        else { throw Problem.invalidToken(wasShown: true) }
        let session = live.session
        guard wanted.allSatisfy((live.grant?.scope ?? []).contains) else {
            var problem = Problem(.insufficientScope)
            problem.scope = wanted.joined(separator: " ")
            throw problem
        }
        let isStrong =
            classes.isEmpty || classes.contains { AuthenticationContext.isAtLeast(session.acr, $0) }
        let isFresh = maxAge.map { call.now - session.authTime <= .seconds($0) } ?? true
        guard isStrong, isFresh else {
            var problem = Problem(.insufficientUserAuthentication)
            problem.stepUp = Problem.StepUp(
                acrValues: classes.isEmpty ? nil : classes.joined(separator: " "),
                maxAge: maxAge
            )
            throw problem
        }
        return Reply.noContent
            .with(.authSubject, Base64URL.encode(session.account.bytes))
            .with(.authSession, Base64URL.encode(session.id.bytes))
            .with(.authScope, live.grant?.scopeText ?? "")
            .with(.authClass, session.acr)
    }

    /// The words of a parameter, which a header field may quote.
    private static func words(_ name: String, _ call: Call) throws(Problem) -> [String] {
        let text = call.query(name) ?? ""
        guard
            text.utf8.allSatisfy({ 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            )
        else { throw Problem(.invalidRequest, "\(name) has a character that is in no \(name)") }
        return text.split(separator: " ").map(String.init)
    }
}

extension HTTPField.Name {
    /// A service's credentials beside those of its client.
    fileprivate static let serviceAuthorization = known("Service-Authorization")
    /// The account's identifier: `sub` of an introspection.
    fileprivate static let authSubject = known("X-Auth-Subject")
    /// The session's identifier: `sid`.
    fileprivate static let authSession = known("X-Auth-Session")
    /// What the token may do: `scope`.
    fileprivate static let authScope = known("X-Auth-Scope")
    /// The class of the authentication: `acr`.
    fileprivate static let authClass = known("X-Auth-Acr")
}

extension Service {
    /// The stored token of a text, if it is one: opaque texts have prefixes, so that no hint is needed, and a signed one names it.
    func token(_ text: String, _ call: Call) async throws(StoreError) -> (TokenDigest, TokenKind)? {
        if let token = OpaqueToken(text, .access) { return (TokenDigest(token.digest), .access) }
        if let token = OpaqueToken(text, .refresh) { return (TokenDigest(token.digest), .refresh) }
        guard let token = SignedAccessToken(text) else { return nil }
        let keys = try await store.publishedKeys(now: call.now)
        guard let key = keys.first(where: { $0.thumbprint == token.keyID }),
            let identifier = TokenKey(rawRepresentation: key.rawRepresentation).flatMap(token.identifier)
        else { return nil }
        return (TokenDigest(identifier), .access)
    }

    /// The session of a token that a client showed to a service, and how the token is presented; nil: it is of no use there.
    fileprivate func liveSession(
        _ text: String,
        shownTo caller: String,
        _ call: Call
    ) async throws(StoreError) -> (LiveSession, TokenKind, Audiences.TokenType)? {
        guard let (digest, kind) = try await token(text, call) else { return nil }
        // A statement of its own: the optimiser of Swift 6.3 crashes on the call in a condition.
        let found = try await store.liveSession(digest, kind, now: call.now)
        // A limited session opens nothing but what it is for.
        guard let live = found, live.session.task == nil else { return nil }
        guard kind == .access else { return (live, kind, .bearer) }
        // A token of another audience, or of the account's API, says nothing to this service (RFC 7662, section 2.2).
        let audience = live.grant.flatMap { audiences.audience(of: $0) }
        guard let audience, audience.services.contains(caller) else {
            logger.info(
                "\(caller) asks for a token of another audience: \(live.grant?.audience ?? "this server")",
                metadata: ["trace": "\(call.traceID)"]
            )
            return nil
        }
        return (live, kind, audience.type)
    }
}
