internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import RelyingParty
internal import WebAuthnModel

/// Signing in by password.
enum LoginRoutes {
    static let operations: [Operation] = [
        Operation(
            .post,
            "/v1/login/password",
            "loginWithPassword",
            .openOrSession,
            takesDPoP: true,
            handle: password
        )
    ]

    private static func password(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let name = reader.string("username", bytes: 1...1024)
        let password = reader.string("password", bytes: 0...PasswordPolicy.mostBytes)
        let client = reader.optionalLabel("client")
        let purpose = reader.choice("purpose", default: LoginPurpose.login)
        let hardware = reader.optionalString("hardware", bytes: 1...32)
        let asked = reader.choice("session", default: SessionForm.tokens)
        let audience = reader.audience()
        try reader.finish()
        let form = try service.form(asked, call.request)
        let grant = try service.grant(audience, for: form)
        let renewed = purpose == .reauth ? try call.session : nil
        if let renewed { try service.requireNoStronger(renewed, than: AuthenticationContext.password) }
        let proof = try service.proof(of: call)
        try service.requireKey(renewed.map(\.session.thumbprint) ?? proof?.thumbprint, for: grant)
        let typed = TypedName(name)
        let found = try await service.account(typed)
        let attempt = try await service.takePasswordAttempt(
            found?.account.username ?? typed.key,
            found,
            proof,
            call
        )
        let verdict = try await service.check(password, against: found?.account.password?.hash, attempt, call)
        guard case .correct(let rehashed) = verdict, let account = found?.account,
            let stored = account.password?.hash, renewed.map({ $0.account.id == account.id }) ?? true
        else {
            await service.audit(
                call.event(
                    .loginFail,
                    account: found?.account.id,
                    reason: found == nil ? "unknown_user" : "wrong_password"
                ),
                at: call.now
            )
            service.metrics.login(method: "password", outcome: "failed")
            throw Problem.authenticationFailed("password")
        }
        guard account.lockedAt == nil else {
            await service.audit(
                call.event(.loginFail, account: account.id, reason: "account_locked"),
                at: call.now
            )
            service.metrics.login(method: "password", outcome: "locked")
            throw Problem(.accountLockedByAdmin)
        }
        var task: SessionTask? = account.password?.mustChange == true ? .changePassword : nil
        let demand =
            renewed == nil
            ? service.configuration.requiredAssuranceLogin : service.configuration.requiredAssuranceStepUp
        if let shortfall = ProvenAssurance.password.shortfall(of: demand) {
            // An account that has nothing better yet may get it.
            guard !(found?.credentials.contains(where: demand.canBeMet) ?? false) else {
                throw try await service.insufficientPassword(shortfall, account, attempt, call)
            }
            if renewed == nil, task == nil { task = .setUp }
        }
        if task != nil {
            guard renewed == nil, grant == nil, form == .cookie || proof != nil else {
                try await service.giveBack(attempt, call)
                guard task == .changePassword else {
                    throw Problem.insufficientAssurance(
                        "sign in with cookies or a DPoP proof, and without a resource, to set a credential up"
                    )
                }
                throw Problem(
                    .passwordChangeRequired,
                    "sign in with cookies or a DPoP proof, and without a resource, to change it"
                )
            }
        }
        let session = service.newSession(
            id: renewed?.session.id,
            of: account.id,
            credential: nil,
            acr: AuthenticationContext.password,
            amr: proof == nil ? ["pwd"] : ["pwd", "pop"],
            thumbprint: proof?.thumbprint,
            client: client,
            task: task,
            call
        )
        let tokens = try await service.newTokens(grant, call.now)
        let outcome = try await service.store.completeLogin(
            LoginCompletion(
                method: .password(checked: stored, rehashed: rehashed),
                target: renewed == nil
                    ? .newSession : .renewal(of: AuthenticationContext.upTo(AuthenticationContext.password)),
                session: session,
                tokens: tokens.pair,
                proof: proof?.identifier,
                resetting: [attempt.key],
                givingBack: [attempt.addressKey],
                audit: call.event(
                    renewed != nil
                        ? .sessionRenewed : attempt.failures > 0 ? .loginSuccessAfterFail : .loginSuccess,
                    account: account.id,
                    session: session.id,
                    reason: "password"
                ),
                now: call.now
            )
        )
        guard case .completed(let opened, _) = outcome else {
            service.metrics.login(method: "password", outcome: "failed")
            throw LoginRefusalProblem.of(outcome)
        }
        service.metrics.login(method: "password", outcome: "success")
        // A device whose key is about to end is offered a successor.
        let devices = (found?.credentials ?? []).filter {
            $0.kind == .device && service.isLasting($0, at: call.now)
        }
        let isKnown =
            if let proof { devices.contains { $0.thumbprint == proof.thumbprint } } else { !devices.isEmpty }
        let isOffered = !isKnown && service.acceptsDevice(with: hardware)
        let offer: [(name: String, value: JSONValue)] = [("offerDeviceLogin", .bool(isOffered))]
        return try service.reply(
            tokens,
            opened,
            as: form,
            adding: task == .changePassword ? [] : offer,
            call
        )
    }
}

/// The purpose of an authentication.
enum LoginPurpose: String, CaseIterable {
    /// A new session.
    case login
    /// The calling session: it becomes fresh, and gets new tokens.
    case reauth
}

/// The client's error for a login that the store refused.
enum LoginRefusalProblem {
    static func of(_ outcome: LoginOutcome) -> Problem {
        guard case .refused(let refusal) = outcome else { return Problem(.internalError) }
        switch refusal {
        case .accountLocked: return Problem(.accountLockedByAdmin)
        case .credentialSuspended: return Problem(.credentialSuspended)
        case .proofReplayed: return Problem(.invalidDPoPProof, "replayed")
        case .noKey: return .noKey
        case .noLink: return Problem(.linkInvalid)
        case .noAccount, .noCredential, .counterNotGrown, .clonedCounter, .passwordChanged, .noSession,
            .weakerMethod, .noRecoveryCode:
            return .authenticationFailed(refusal.rawValue)
        }
    }
}

/// What an attempt is with; its failures in a row are counted separately.
enum AttemptedSecret: String {
    case password
    case recoveryCode = "recovery-code"
}

/// A password attempt, which counts as a failure until it succeeds.
struct PasswordAttempt: Sendable {
    /// The key for counting consecutive failures.
    let key: LimitKey
    /// The key of the limit for the client's address.
    let addressKey: LimitKey
    /// The number of consecutive failures before it.
    let failures: Int
}

extension Service {
    /// The refusal of a right password that is not worth what is demanded, after it is in the audit.
    fileprivate func insufficientPassword(
        _ shortfall: String,
        _ account: Account,
        _ attempt: PasswordAttempt,
        _ call: Call
    ) async throws(StoreError) -> Problem {
        let refusal = AssertionRefusal.insufficient(shortfall)
        await audit(
            call.event(
                .loginFail,
                account: account.id,
                reason: refusal.reason,
                details: refusal.auditDetails
            ),
            at: call.now
        )
        metrics.login(method: "password", outcome: "insufficient")
        try await giveBack(attempt, call)
        return .insufficientAssurance(shortfall)
    }

    /// Takes back that an attempt counted as a failure: its password was right.
    fileprivate func giveBack(_ attempt: PasswordAttempt, _ call: Call) async throws(StoreError) {
        try await store.giveBack([attempt.addressKey], now: call.now)
        try await store.reset([attempt.key])
    }

    /// The account that somebody names to sign in.
    ///
    /// All forms are looked up, whatever is found: the work tells nothing.
    func account(_ name: TypedName) async throws(StoreError) -> AccountWithCredentials? {
        var found: AccountWithCredentials?
        for form in name.forms.reversed() { found = try await store.loginAccount(username: form) ?? found }
        return found
    }

    /// Checks a password after its attempt was counted; a password that could not be checked does not count as a
    /// failure.
    func check(
        _ password: String,
        against stored: String?,
        _ attempt: PasswordAttempt,
        _ call: Call
    ) async throws -> PasswordChecker.Verdict {
        do {
            return try await passwords.check(password, against: stored)
        } catch {
            try await store.giveBack([attempt.key, attempt.addressKey], now: call.now)
            throw error
        }
    }

    /// Counts an attempt with a secret: for the username, or separately for a device that proves a key of the account, so
    /// that an attacker cannot lock the owner out.
    ///
    /// - Throws: ``Problem`` with `too_many_attempts` or `overloaded`.
    func takePasswordAttempt(
        with secret: AttemptedSecret = .password,
        _ username: String,
        _ found: AccountWithCredentials?,
        _ proof: VerifiedProof?,
        _ call: Call
    ) async throws -> PasswordAttempt {
        // Under load, requests are refused before they cost a transaction.
        if secret == .password, passwords.isFull {
            throw Problem.overloaded("passwords queue up", retryAfter: 1)
        }
        let isOwn =
            proof.map { proof in
                found?.credentials.contains { $0.thumbprint == proof.thumbprint && $0.suspension == nil }
                    ?? false
            } ?? false
        let key =
            isOwn
            ? LimitKey("\(secret.rawValue)-device", "\(username)/\((proof?.thumbprint ?? []).hexadecimal)")
            : LimitKey(secret.rawValue, username)
        let limit = addressLimit(call)
        let verdict = try await store.takeAttempt(
            key,
            delay: { ThrottleLadder.delay(afterFailures: $0) },
            limits: [limit],
            now: call.now
        )
        switch verdict {
        case .allowed(let failures):
            return PasswordAttempt(key: key, addressKey: limit.key, failures: failures)
        case .wait(_, let until):
            await audit(
                call.event(.loginFailMax, account: found?.account.id, reason: secret.rawValue),
                at: call.now
            )
            throw throttled(secret.rawValue, until, call)
        case .exceeded(_, let until): throw await exceeded(until, call)
        }
    }

    /// Counts an attempt without a username as failed, for the client's address alone.
    ///
    /// - Returns: the key, to give the attempt back if it succeeds.
    /// - Throws: ``Problem`` with `too_many_attempts`; ``StoreError``.
    func takeAddressAttempt(_ call: Call) async throws -> LimitKey {
        let limit = addressLimit(call)
        if case .exceeded(_, let until) = try await store.take([limit], now: call.now) {
            throw await exceeded(until, call)
        }
        return limit.key
    }

    /// The limit of failed passwords, links and recovery codes of the client's address.
    private func addressLimit(_ call: Call) -> RateLimit {
        RateLimit(
            LimitKey("password-address", call.limitSubject),
            most: configuration.passwordsPerMinute,
            window: .seconds(60)
        )
    }

    private func exceeded(_ until: Timestamp, _ call: Call) async -> Problem {
        await audit(call.event(.rateLimitExceeded, reason: "password-address"), at: call.now)
        return throttled("password-address", until, call)
    }

    /// The error for a limit that is exceeded until a time.
    func throttled(_ limit: String, _ until: Timestamp, _ call: Call) -> Problem {
        metrics.throttled(limit)
        let wait = until - call.now
        return .tooManyAttempts(retryAfter: Int((wait / .seconds(1)).rounded(.up)))
    }
}
