internal import AccountStore
internal import Crypto
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthn
internal import WebAuthnModel

/// Signing in and reauthenticating by a credential.
enum PasskeyRoutes {
    static let operations: [Operation] = [
        Operation(
            .post,
            "/v1/login/options",
            "loginOptions",
            .openOrSession,
            takesDPoP: true,
            handle: options
        ),
        Operation(.post, "/v1/login", "login", .openOrSession, takesDPoP: true, handle: login),
    ]

    private static func options(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let name = reader.optionalString("username", bytes: 1...1024)
        let purpose = reader.choice("purpose", default: LoginPurpose.login)
        try reader.finish()
        var account: AccountID?
        var session: Session?
        var allowed: [PublicKeyCredentialDescriptor] = []
        switch (purpose, name) {
        case (.reauth, _):
            let caller = try call.session
            account = caller.account.id
            session = caller.session
            allowed = descriptors(
                try await service.store.credentials(of: caller.account.id)
                    .filter { AuthenticationContext.isAtLeast($0.acr, caller.session.acr) }
            )
            guard !allowed.isEmpty else {
                throw Problem(
                    .notFound,
                    "the account has no credential as strong as the session: sign in again"
                )
            }
        case (.login, let name?) where service.configuration.passkeyHints:
            let typed = TypedName(name)
            let found = try await service.account(typed)
            account = found?.account.id
            allowed = descriptors(found?.credentials ?? [])
            if allowed.isEmpty {
                // An unknown name gets a fictitious credential, so that it looks like a known one.
                account = nil
                allowed = [
                    PublicKeyCredentialDescriptor(
                        id: service.secrets.credentialID(ofStranger: typed.key),
                        transports: ["internal"]
                    )
                ]
            }
        // As without a name, so that not even the account of the passkey that signs tells whether the name is known.
        case (.login, _): break
        }
        // A digest, since what is typed into the field for the name is not always a name.
        let failureName = purpose == .login ? name.map(Self.failureName) : nil
        let options = PublicKeyCredentialRequestOptions(
            challenge: Random.bytes(32),
            rpId: service.passkeys.id,
            allowCredentials: allowed
        )
        let publicKey = options.json
        return try await service.open(
            purpose == .login ? .login : .reauthentication,
            account: account,
            session: session,
            publicKey: publicKey,
            kept: KeptOptions.kept(publicKey, for: session, name: failureName),
            failures: purpose == .login ? service.passkeyFailures(name: failureName, call) : nil,
            call
        )
    }

    private static func failureName(_ name: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(TypedName(name).key.utf8))))
    }

    private static func descriptors(_ credentials: [Credential]) -> [PublicKeyCredentialDescriptor] {
        credentials.filter { $0.suspension == nil }
            .map { PublicKeyCredentialDescriptor(id: $0.id.bytes, transports: $0.transports) }
    }

    private static func login(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let id = reader.bytes("ceremonyId", count: 16...64)
        let credential = reader.object("credential")
        let client = reader.optionalLabel("client")
        let asked = reader.choice("session", default: SessionForm.tokens)
        let audience = reader.audience()
        try reader.finish()
        let form = try service.form(asked, call.request)
        let grant = try service.grant(audience, for: form)
        let response = try CredentialResponse.authentication(credential)
        let proof = try service.proof(of: call)
        let known = (try? call.session)?.session.thumbprint
        try service.requireKey(proof?.thumbprint ?? known, for: grant)
        let tokens = try await service.newTokens(grant, call.now)
        let login = try await service.store.completeLogin(
            by: CeremonyID(id),
            presenting: CredentialID(response.rawId),
            now: call.now
        ) { taken throws(LoginFault) in
            guard [.login, .reauthentication].contains(taken.ceremony.purpose) else { throw .otherCeremony }
            do throws(AssertionRefusal) {
                try service.requireOwnCeremony(taken.ceremony, proof, call)
                let (known, assertion) = try service.verifyLogin(response, taken)
                guard !service.isExpired(known, at: call.now) else { throw AssertionRefusal.expired }
                let demand =
                    taken.ceremony.purpose == .login
                    ? service.configuration.requiredAssuranceLogin
                    : service.configuration.requiredAssuranceStepUp
                if let shortfall = assertion.assurance.shortfall(of: demand) {
                    throw .insufficient(shortfall)
                }
                return service.completion(
                    of: taken.ceremony,
                    known,
                    assertion,
                    response,
                    tokens,
                    proof,
                    client,
                    call
                )
            } catch {
                throw .assertion(error)
            }
        }
        let outcome: LoginOutcome
        switch login {
        case .verified(let ended): outcome = ended
        case .refused(.assertion(let refusal), let taken):
            await service.refuse(refusal, taken.credential, call)
            // The key signed, so this is no guess.
            if refusal.isInsufficient {
                service.metrics.login(method: "passkey", outcome: "insufficient")
                throw Problem.insufficientAssurance(refusal.details)
            }
            let kept = KeptOptions(try? JSONValue(parsing: Array(taken.ceremony.options.utf8)))
            await service.countPasskeyFailure(name: kept?.name, call)
            service.metrics.login(method: "passkey", outcome: "failed")
            throw refusal == .expired ? Problem(.credentialExpired) : .authenticationFailed(refusal.reason)
        case .noCeremony, .refused(.otherCeremony, _):
            await service.audit(call.event(.sequenceFail, reason: "ceremony_expired"), at: call.now)
            await service.countPasskeyFailure(name: nil, call)
            service.metrics.login(method: "passkey", outcome: "expired")
            throw Problem(.ceremonyExpired)
        }
        guard case .completed(let opened, _) = outcome else {
            service.metrics.login(method: "passkey", outcome: "failed")
            await service.countPasskeyFailure(name: nil, call)
            throw LoginRefusalProblem.of(outcome)
        }
        service.metrics.login(method: "passkey", outcome: "success")
        return try service.reply(tokens, opened, as: form, adding: await service.keyTerm(of: opened), call)
    }
}

/// Why the response to a ceremony is refused.
private enum LoginFault: Error {
    /// The ceremony has another purpose.
    case otherCeremony
    case assertion(AssertionRefusal)
}

extension Service {
    /// Requires that the session that began a reauthentication ends it: by its access token, or by a proof of the key
    /// that it is bound to.
    fileprivate func requireOwnCeremony(
        _ ceremony: Ceremony,
        _ proof: VerifiedProof?,
        _ call: Call
    ) throws(AssertionRefusal) {
        guard ceremony.purpose == .reauthentication else { return }
        if case .session(let caller) = call.caller, caller.session.id == ceremony.session { return }
        let bound = KeptOptions(try? JSONValue(parsing: Array(ceremony.options.utf8)))?.sessionKey
        guard let bound, bound == proof?.thumbprint else { throw AssertionRefusal(reason: "other_session") }
    }

    /// The login by a verified credential, for the store to complete.
    fileprivate func completion(
        of ceremony: Ceremony,
        _ known: Credential,
        _ assertion: VerifiedAssertion,
        _ response: AuthenticationResponse,
        _ tokens: NewTokens,
        _ proof: VerifiedProof?,
        _ client: String?,
        _ call: Call
    ) -> LoginCompletion {
        let renewed = ceremony.purpose == .reauthentication ? ceremony.session : nil
        let session = newSession(
            id: renewed,
            of: known.account,
            credential: known.id,
            acr: known.acr,
            amr: AuthenticationMethods.amr(of: known, response),
            thumbprint: proof?.thumbprint,
            client: client,
            assurance: assertion.assurance,
            call
        )
        return LoginCompletion(
            method: .credential(assertion.use),
            target: renewed == nil ? .newSession : .renewal(of: AuthenticationContext.upTo(known.acr)),
            session: session,
            tokens: tokens.pair,
            proof: proof?.identifier,
            audit: call.event(
                renewed == nil ? .loginSuccess : .sessionRenewed,
                account: known.account,
                session: session.id,
                credential: known.id,
                reason: "passkey",
                details: assertion.details
            ),
            now: call.now
        )
    }
}
