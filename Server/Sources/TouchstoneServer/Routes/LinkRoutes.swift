internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// Getting into an account by a link of an administrator.
enum LinkRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/v1/links/redeem", "redeemLink", .open, takesDPoP: true, handle: redeem)
    ]

    private static func redeem(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let text = reader.string("token", bytes: 1...256)
        let client = reader.optionalLabel("client")
        let asked = reader.choice("session", default: SessionForm.tokens)
        try reader.finish()
        let form = try service.form(asked, call.request)
        let proof = try service.proof(of: call)
        try Service.requirePossession(form, proof)
        let addressKey = try await service.takeAddressAttempt(call)
        guard let token = OpaqueToken(text, .link),
            let link = try await service.store.link(TokenDigest(token.digest), now: call.now)
        else {
            await service.audit(call.event(.loginFail, reason: LoginRefusal.noLink.rawValue), at: call.now)
            service.metrics.login(method: "link", outcome: "failed")
            throw Problem(.linkInvalid)
        }
        return try await service.openSetUp(
            of: link.account,
            .link(link),
            audit: (.linkRedeemed, link.reason),
            amr: [],
            proof: proof,
            client: client,
            form: form,
            givingBack: [addressKey],
            call
        )
    }
}

extension Service {
    /// Requires that a limited session can do what it is for, before what opens it is used up.
    ///
    /// - Throws: ``Problem`` with `invalid_dpop_proof`.
    static func requirePossession(_ form: SessionForm, _ proof: VerifiedProof?) throws(Problem) {
        guard form == .tokens, proof == nil else { return }
        throw Problem(
            .invalidDPoPProof,
            "a change of credentials needs a session in cookies, or a proof of the session's key"
        )
    }

    /// Opens a limited session, in which its owner sets up a credential or a password.
    ///
    /// - Parameters:
    ///   - account: the account, which need not exist: then the work is the same.
    ///   - method: the link or the recovery code.
    ///   - audit: the name of the event of a success, and its reason.
    ///   - amr: the methods of authentication.
    ///   - proof: the request's proof of possession.
    ///   - client: the client's name for itself.
    ///   - form: the form of the tokens.
    ///   - resetting: the failure counts to reset.
    ///   - givingBack: the counts that included this as a failure.
    ///   - call: the request.
    /// - Returns: the API's *tokens* with what became of the credentials.
    /// - Throws: ``Problem``; ``StoreError``.
    func openSetUp(
        of account: AccountID,
        _ method: LoginCompletion.Method,
        audit: (name: AuditEvent.Name, reason: String),
        amr: [String],
        proof: VerifiedProof?,
        client: String?,
        form: SessionForm,
        resetting: [LimitKey] = [],
        givingBack: [LimitKey],
        _ call: Call
    ) async throws -> Reply {
        let isLink = if case .link = method { true } else { false }
        let session = newSession(
            of: account,
            credential: nil,
            acr: AuthenticationContext.unauthenticated,
            amr: amr,
            thumbprint: proof?.thumbprint,
            client: client,
            task: .setUp,
            call
        )
        let tokens = try await newTokens(nil, call.now)
        let outcome = try await store.completeLogin(
            LoginCompletion(
                method: method,
                session: session,
                tokens: tokens.pair,
                proof: proof?.identifier,
                resetting: resetting,
                givingBack: givingBack,
                audit: call.event(audit.name, account: account, session: session.id, reason: audit.reason),
                now: call.now
            )
        )
        let metric = isLink ? "link" : "recovery_code"
        guard case .completed(let opened, _) = outcome else {
            metrics.login(method: metric, outcome: "failed")
            // Without the right code nobody learns that an account is locked.
            if !isLink, outcome == .refused(.accountLocked) {
                throw Problem.authenticationFailed(LoginRefusal.accountLocked.rawValue)
            }
            throw LoginRefusalProblem.of(outcome)
        }
        metrics.login(method: metric, outcome: "success")
        var more: [(name: String, value: JSONValue)] = [
            ("credentials", .string(method.formerCredentials.rawValue))
        ]
        if !isLink {
            let left = try await store.recoveryCodes(of: account).left
            more.append(("codesLeft", .integer(Int64(left))))
        }
        return try reply(tokens, opened, as: form, adding: more, call)
    }
}
