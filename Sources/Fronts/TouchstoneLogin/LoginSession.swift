internal import Foundation
public import Touchstone
internal import WebAuthnModel

/// A signed-in session of a user.
///
/// Access tokens are valid for minutes and are renewed as needed with a refresh token that is bound to this device. The refresh
/// token is in this object's memory, and also sealed under the rule once the device is set up.
public actor LoginSession {
    /// The account's name.
    public nonisolated let user: String
    /// The account's id, as in ``LoginAccount/id``.
    public nonisolated let account: String
    /// What the sign-in is worth: `low` with the password and for a resumed session.
    ///
    /// The facts are in the client data that an assertion signs, as the member `touchstone`.
    public nonisolated let assurance: Assurance

    let client: LoginClient
    let proofKey: Data
    /// Whether the server wants this device to be set up, or its key to be replaced; it knows which devices are.
    private var isDeviceOffered: Bool
    /// nil once the session has ended.
    private var tokens: Tokens?
    /// Those for services.
    private var audienceTokens: [Audience: Tokens] = [:]
    private var renewal: Task<Result<Tokens, TouchstoneError>, Never>?
    /// The last of the requests with a refresh token.
    private var lastExchange: Task<Result<Tokens, TouchstoneError>, Never>?
    /// The last request of a step-up, while it is in progress.
    private var stepping: Task<Result<Tokens, TouchstoneError>, Never>?
    private var isSignedOut = false

    init(
        _ client: LoginClient,
        user: String,
        proofKey: Data,
        _ tokens: Tokens,
        _ assurance: Assurance,
        isDeviceOffered: Bool
    ) {
        self.client = client
        self.user = user
        account = tokens.account
        self.proofKey = proofKey
        self.tokens = tokens
        self.assurance = assurance
        self.isDeviceOffered = isDeviceOffered
    }

    /// An access token for the account's API of the server, valid for at least ten seconds, for the header
    /// `Authorization: Bearer`.
    ///
    /// Do not send it to a service: that gets one of its own, ``accessToken(for:scope:)``.
    ///
    /// - Returns: the token, renewed if it was about to expire.
    /// - Throws: `TouchstoneError`: `sessionEnded`, the errors of a server.
    public func accessToken() async throws(TouchstoneError) -> String {
        guard let tokens else { throw .signedOut }
        if tokens.expires > .now { return tokens.access }
        return try await renew().access
    }

    /// An access token for a service, valid for at least ten seconds, for the header `Authorization: Bearer`.
    ///
    /// The service finds out what it is worth from the server (RFC 7662). The token opens nothing else: neither another service nor
    /// the account.
    ///
    /// - Parameters:
    ///   - resource: The service's resource indicator (RFC 8707) as in the server's settings, such as `https://api.example.org`.
    ///   - scope: What the token may do there; empty: all that the server's settings allow.
    /// - Returns: the token; the same one until it is about to expire.
    /// - Throws: `TouchstoneError`: `sessionEnded`, `refused` with the cause `invalid_target` or `invalid_scope`
    ///   for what the server issues no tokens for; the errors of a server.
    public func accessToken(
        for resource: String,
        scope: [String] = []
    ) async throws(TouchstoneError) -> String {
        let audience = Audience(resource: resource, scope: scope)
        if let kept = audienceTokens[audience], kept.expires > .now { return kept.access }
        for isLast in [false, true] {
            do throws(TouchstoneError) {
                return try await exchange(for: audience).value.get().access
            } catch {
                guard error.isEndOfSession, !isLast else { throw error }
                // Either a step-up replaced the refresh token, or the session ended, which this ends here.
                _ = try await renew()
            }
        }
        throw TouchstoneError(.sessionEnded, part: "server", cause: "invalid_grant", nextStep: .retry)
    }

    // MARK: Setting up the device

    /// Checks whether the app can offer sign-in with this device from now on: step 5.
    ///
    /// If the server accepts a key for a limited time only, there is an offer to replace it in the last part of that time, and after it:
    /// ask for one after each sign-in. The former key signs in until its successor is stored.
    ///
    /// - Returns: the offer; nil if this machine cannot meet the rule, such as without an enrolled finger, if this device is
    ///   already set up, and if the server offers nothing.
    /// - Throws: `TouchstoneError` as ``LoginClient/state(_:)``, except `ruleMismatch`.
    public func offer() async throws(TouchstoneError) -> DeviceOffer? {
        guard tokens != nil else { throw .signedOut }
        let record = try await client.store.find(account, .silent)
        var isOffered = isDeviceOffered
        if let record {
            // The server does not know a key by which this session was not opened, that the key was invalidated, and that the app's rule
            // changed.
            let isUsable = try await client.keys.isUsable(record.credential)
            let isKnown = !isDeviceOffered || record.proofKey != proofKey
            isOffered = !(isUsable && isKnown && record.rule == client.rule.description)
        }
        guard isOffered else { return nil }
        guard let demand = client.rule.promptedFactors else { return nil }
        switch try await client.keys.keychain.capability(for: demand).obstacle?.code {
        // Obstacles that the user can remove during the set-up.
        case nil, .lockedOut, .lockedOutUntilPasscode, .locked:
            return DeviceOffer(session: self, replaces: record?.device)
        default: return nil
        }
    }

    // MARK: Stronger

    /// Authenticates again with this device's key when a service requires it (RFC 9470), and replaces the session's tokens.
    ///
    /// - Parameters:
    ///   - wwwAuthenticate: The header `WWW-Authenticate` of the service's response; for an error of this module, the error's
    ///     `cause`.
    ///   - prompt: The text of the prompt.
    /// - Returns: what the new authentication is worth.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` if this device's key does not satisfy the service, `notFound` if the device
    ///   was not set up, `limitExceeded` for a header without such a challenge, the errors of a prompt and of a server.
    @discardableResult
    public func stepUp(
        for wwwAuthenticate: String,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> Assurance {
        let demand = try StepUpDemand(wwwAuthenticate)
        let record = try await client.store.require(account, .prompt(prompt))
        let begun = try await call("POST", "/v1/login/options", ["purpose": "reauth"])
        let ceremony = try Ceremony(begun, from: client.api)
        let (assertion, assurance) = try await client.assert(ceremony.publicKey, by: record, prompt)
        try await step(demand) { [client, proofKey] () throws(TouchstoneError) in
            try await client.finish(ceremony, assertion, proofKey)
        }
        return assurance
    }

    /// Authenticates again with the account's password when a service requires it, and replaces the session's tokens.
    ///
    /// For a device that is not set up, and for a user who cannot use the sensor. The server counts wrong passwords as at a sign-in;
    /// the session remains valid after a wrong one.
    ///
    /// - Parameters:
    ///   - wwwAuthenticate: As for ``stepUp(for:_:)``.
    ///   - password: The account's password.
    /// - Returns: what the new authentication is worth: `low`.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` if the service requires more than a password, thrown before the password is sent,
    ///   `wrongPassword`, `throttled` with the time to wait, `limitExceeded` for a header without such a challenge, the
    ///   errors of a server.
    @discardableResult
    public func stepUp(
        for wwwAuthenticate: String,
        password: String
    ) async throws(TouchstoneError) -> Assurance {
        let demand = try StepUpDemand(wwwAuthenticate)
        try demand.check(StepUpDemand.password)
        let assurance = Assurance.withoutKey(try await client.keys.hardwareLevel())
        let access = try await accessToken()
        try await step(demand) { [client, proofKey, user] () throws(TouchstoneError) in
            try await client.sendPassword(
                ["username": .string(user), "password": .string(password), "purpose": "reauth"],
                proofKey,
                access: access
            )
        }
        return assurance
    }

    /// Completes a step-up: the server replaces the session's tokens, so its reply is processed even if the task is cancelled,
    /// and nothing is renewed meanwhile.
    private func step(
        _ demand: StepUpDemand,
        _ finish: @escaping @Sendable () async throws(TouchstoneError) -> JSONObject
    ) async throws(TouchstoneError) {
        let step = Task { () -> Result<Tokens, TouchstoneError> in
            do throws(TouchstoneError) {
                let tokens = try Tokens(try await finish(), from: client.api)
                try await take(tokens)
                return .success(tokens)
            } catch {
                return .failure(error)
            }
        }
        stepping = step
        let result = await step.value
        if stepping == step { stepping = nil }
        try demand.check(try result.get().context)
    }

    /// Replaces the session's tokens; if the session has ended meanwhile, logs the new tokens out.
    private func take(_ new: Tokens) async throws(TouchstoneError) {
        guard !isSignedOut else {
            _ = try? await client.api.call("POST", "/v1/logout", access: new.access)
            throw .signedOut
        }
        tokens = new
        // They were of the former authentication, and ended with it.
        audienceTokens = [:]
        await seal()
    }

    // MARK: The end

    /// Ends the session, here and on the server; this device remains set up.
    ///
    /// Each side is tried even if the other fails: the sealed token is deleted when the server cannot be reached, and the
    /// server is notified while the keychain is locked.
    ///
    /// - Parameter everywhere: Whether the account's other sessions end too.
    /// - Throws: `TouchstoneError`: the errors of a server, which then was not notified; call again to notify it. `locked`
    ///   if the sealed token could not be deleted; the server no longer accepts it.
    public func signOut(everywhere: Bool = false) async throws(TouchstoneError) {
        guard tokens != nil else { return }
        var kept: TouchstoneError?
        do throws(TouchstoneError) {
            if try await client.store.find(account, .silent) != nil {
                try await client.store.deleteToken(account)
            }
        } catch {
            kept = error
        }
        do throws(TouchstoneError) {
            if everywhere { _ = try await call("DELETE", "/v1/sessions?except=current") }
            _ = try await call("POST", "/v1/logout")
        } catch {
            guard error.isEndOfSession else { throw error }
        }
        (tokens, audienceTokens, isSignedOut) = (nil, [:], true)
        if let kept { throw kept }
    }

    // MARK: Parts

    /// Sends a request of the session; renews the access token once if the server rejects it.
    func call(
        _ method: String,
        _ path: String,
        _ body: JSONValue? = nil,
        isBound: Bool = false
    ) async throws(TouchstoneError) -> JSONObject {
        let access = try await accessToken()
        do throws(TouchstoneError) {
            return try await send(method, path, body, access, isBound)
        } catch {
            guard error == .sessionEnded, error.cause == "invalid_token" else { throw error }
        }
        let renewed = tokens.flatMap { $0.access == access ? nil : $0.access }
        let other = if let renewed { renewed } else { try await renew().access }
        return try await send(method, path, body, other, isBound)
    }

    private func send(
        _ method: String,
        _ path: String,
        _ body: JSONValue?,
        _ access: String,
        _ isBound: Bool
    ) async throws(TouchstoneError) -> JSONObject {
        try await client.api.call(
            method,
            path,
            body.map { .json($0) } ?? .none,
            access: access,
            prove: isBound ? client.keys.prove(proofKey) : nil
        )
    }

    /// Renews the tokens; concurrent calls share one renewal, which cancelling a caller's task does not end.
    private func renew() async throws(TouchstoneError) -> Tokens {
        // After a step-up the server no longer accepts the former tokens.
        if let stepping, case .success(let new) = await stepping.value { return new }
        guard let old = tokens else { throw .signedOut }
        let task = renewal ?? exchange(for: nil)
        renewal = task
        let result = await task.value
        if renewal == task { renewal = nil }
        do throws(TouchstoneError) {
            return try result.get()
        } catch {
            guard error.isEndOfSession else { throw error }
            if let now = tokens, now.access != old.access { return now }
            (tokens, audienceTokens) = (nil, [:])
            if await isStored { try? await client.store.deleteToken(account) }
            throw error
        }
    }

    /// Exchanges the refresh token for its successor and an access token, after all exchanges before: the server ends a session whose
    /// former token it is shown once its successor was used.
    private func exchange(for audience: Audience?) -> Task<Result<Tokens, TouchstoneError>, Never> {
        let task = Task { [lastExchange] () -> Result<Tokens, TouchstoneError> in
            _ = await lastExchange?.value
            do throws(TouchstoneError) {
                return .success(try await exchangeNow(for: audience))
            } catch {
                return .failure(error)
            }
        }
        lastExchange = task
        return task
    }

    private func exchangeNow(for audience: Audience?) async throws(TouchstoneError) -> Tokens {
        guard let old = tokens else { throw .signedOut }
        if let audience, let kept = audienceTokens[audience], kept.expires > .now { return kept }
        let new = try await client.refresh(old.refresh, proofKey, for: audience)
        // The session was signed out or stepped up meanwhile: discard the new tokens.
        guard let now = tokens else { throw .signedOut }
        guard now.refresh == old.refresh else {
            guard audience == nil else {
                throw TouchstoneError(.sessionEnded, part: "server", cause: "invalid_grant")
            }
            return now
        }
        if let audience {
            audienceTokens[audience] = new
            tokens?.refresh = new.refresh
        } else {
            tokens = new
        }
        await seal()
        return new
    }

    /// Seals the refresh token, if this device is set up for the account, with the session key that the token is bound to.
    ///
    /// A failure does no harm, since the device's key can sign in without the token; but then no former token stays, which the server would
    /// take for a stolen one.
    func seal() async {
        guard let token = tokens?.refresh, await isStored else { return }
        do throws(TouchstoneError) {
            try await client.store.seal(token, of: account)
        } catch {
            try? await client.store.deleteToken(account)
        }
    }

    /// Whether the stored token of the account is bound to this session's key.
    private var isStored: Bool {
        get async { (try? await client.store.find(account, .silent))?.proofKey == proofKey }
    }

    /// Records that the device is set up.
    func noteSetUp() { isDeviceOffered = false }

    /// The current refresh token.
    var refreshToken: String? { tokens?.refresh }
}

extension TouchstoneError {
    /// The error for a session that has ended, here or on the server.
    fileprivate static var signedOut: TouchstoneError {
        TouchstoneError(Code.sessionEnded, cause: "signedOut")
    }
}
