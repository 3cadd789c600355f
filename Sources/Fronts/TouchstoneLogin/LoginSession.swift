internal import Foundation
public import Touchstone
internal import WebAuthnModel

/// A user who is signed in.
///
/// Access tokens are good for minutes and are renewed as needed, by a refresh token that is bound to this device. It is in this
/// object's memory, and sealed under the rule once the device was set up.
public actor LoginSession {
    /// The account's name.
    public nonisolated let user: String
    /// What the sign-in was worth: `low` by password and for a session that was resumed.
    ///
    /// The facts of an assertion are in the client data that it signs, as the member `touchstone`.
    public nonisolated let assurance: Assurance

    let client: LoginClient
    let proofKey: Data
    /// Whether the server wants this device to be set up; it knows those that are.
    private var isDeviceOffered: Bool
    /// nil once the session is over.
    private var tokens: Tokens?
    private var renewal: Task<Result<Tokens, TouchstoneError>, Never>?
    /// The end of a step-up, while the server answers.
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
        self.proofKey = proofKey
        self.tokens = tokens
        self.assurance = assurance
        self.isDeviceOffered = isDeviceOffered
    }

    /// An access token that is good for at least ten seconds, for the header `Authorization: Bearer`.
    ///
    /// - Returns: the token; renewed where it was about to expire.
    /// - Throws: `TouchstoneError`: `refused` once the session is over, those of a server.
    public func accessToken() async throws(TouchstoneError) -> String {
        guard let tokens else { throw .signedOut }
        if tokens.expires > .now { return tokens.access }
        return try await renew().access
    }

    // MARK: Setting up the device

    /// What can be offered to the user: signing in by this device from now on; step 5.
    ///
    /// - Returns: the offer; nil where this machine cannot meet the rule, such as without an enrolled finger, where this device
    ///   is set up already, and where the server offers nothing.
    /// - Throws: `TouchstoneError` as ``LoginClient/state()``, but for `ruleMismatch`.
    public func offer() async throws(TouchstoneError) -> DeviceOffer? {
        guard tokens != nil else { throw .signedOut }
        if let record = try await client.store.find(.silent), record.user == user {
            // The server does not see that a key was invalidated or that the app has another rule now.
            let isUsable = try await client.keys.isUsable(record.credential)
            if isUsable, record.rule == client.rule.description { return nil }
        } else {
            guard isDeviceOffered else { return nil }
        }
        guard let demand = client.rule.promptedFactors else { return nil }
        switch try await client.keys.keychain.capability(for: demand).obstacle?.code {
        // What the user mends on the way.
        case nil, .lockedOut, .lockedOutUntilPasscode, .locked: return DeviceOffer(session: self)
        default: return nil
        }
    }

    // MARK: Stronger

    /// Authenticates again, as a service demands it (RFC 9470); the session's tokens are other ones then.
    ///
    /// - Parameters:
    ///   - wwwAuthenticate: The header `WWW-Authenticate` of the refusal; of a refusal by this module it is the error's
    ///     `cause`.
    ///   - prompt: What the prompt says.
    /// - Returns: what the new authentication is worth.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` where this device's key is not what the service wants, `notFound` where the
    ///   device was not set up, `limitExceeded` for a header that is no such demand, those of a prompt and of a server.
    @discardableResult
    public func stepUp(
        for wwwAuthenticate: String,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> Assurance {
        let demand = try StepUpDemand(wwwAuthenticate)
        let record = try await client.store.require(.prompt(prompt))
        guard record.user == user else { throw TouchstoneError(.notFound) }
        let begun = try await call("POST", "/v1/login/options", ["purpose": "reauth"])
        let ceremony = try Ceremony(begun, from: client.api)
        let (assertion, assurance) = try await client.assert(ceremony.publicKey, by: record, prompt)
        try await step(demand) { [client, proofKey] () throws(TouchstoneError) in
            try await client.finish(ceremony, assertion, proofKey)
        }
        return assurance
    }

    /// Authenticates again by the account's password, where that is what a service demands; the session's tokens are other ones then.
    ///
    /// For a device that is not set up, and for a person who cannot use the sensor. The server counts wrong passwords as at a
    /// sign-in, and the session goes on after one.
    ///
    /// - Parameters:
    ///   - wwwAuthenticate: As for ``stepUp(for:_:)``.
    ///   - password: The account's password.
    /// - Returns: what the new authentication is worth: `low`.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` where the service wants more than a password, before the server sees it, `refused`
    ///   for a wrong one, `throttled` with the time to wait, `limitExceeded` for a header that is no such demand, those of a
    ///   server.
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
            try await client.api.call(
                "POST",
                "/v1/login/password",
                .json([
                    "username": .string(user), "password": .string(password), "purpose": "reauth",
                ]),
                access: access,
                prove: client.keys.prove(proofKey)
            )
        }
        return assurance
    }

    /// Ends a step-up: the server replaces the session's tokens now, so its answer is taken in any case, and nothing is renewed
    /// meanwhile.
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

    /// Takes tokens that replace the session's; after the session's end they are given back.
    private func take(_ new: Tokens) async throws(TouchstoneError) {
        guard !isSignedOut else {
            _ = try? await client.api.call("POST", "/v1/logout", access: new.access)
            throw .signedOut
        }
        tokens = new
        await seal()
    }

    // MARK: Devices

    /// The devices that may sign in to the account.
    ///
    /// - Returns: those whose keys count, the server's order.
    /// - Throws: `TouchstoneError`.
    public func devices() async throws(TouchstoneError) -> [LoginDevice] {
        let answer = try await call("GET", "/v1/credentials")
        guard let credentials = answer["credentials"]?.array else { throw .badReply("credentials") }
        let own = try await client.store.find(.silent)?.device.id
        var devices: [LoginDevice] = []
        for credential in credentials {
            guard let members = credential.object, let kind = members["kind"]?.string else {
                throw .badReply("credentials")
            }
            guard kind == "device", members["suspended"]?.bool != true else { continue }
            devices.append(try LoginDevice(members, own: own))
        }
        return devices
    }

    /// Takes a device off the account, such as a lost one: its key and its sessions count no more.
    ///
    /// - Parameter device: Of ``devices()``; of this device key and token are deleted here too.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` where the user did not authenticate just now, `notFound` where the server
    ///   does not know the device.
    public func remove(_ device: LoginDevice) async throws(TouchstoneError) {
        guard Base64URL.decode(device.id) != nil else { throw TouchstoneError(.notFound) }
        var unknown: TouchstoneError?
        do throws(TouchstoneError) {
            _ = try await call("DELETE", "/v1/credentials/\(device.id)")
        } catch {
            guard error.code == .notFound else { throw error }
            unknown = error
        }
        if try await client.store.find(.silent)?.device.id == device.id {
            try await client.store.delete()
        } else if let unknown {
            throw unknown
        }
    }

    // MARK: The end

    /// Ends the session, here and at the server; this device stays set up.
    ///
    /// Each side hears of it, also where the other cannot: the sealed token is deleted without the server, and the server is
    /// told while the keychain is locked.
    ///
    /// - Parameter everywhere: Whether the account's other sessions end too.
    /// - Throws: `TouchstoneError`: those of a server, which was not told then and is told by calling again; `locked` where
    ///   the sealed token could not be deleted, which the server does not take any more.
    public func signOut(everywhere: Bool = false) async throws(TouchstoneError) {
        guard tokens != nil else { return }
        var kept: TouchstoneError?
        do throws(TouchstoneError) {
            if let record = try await client.store.find(.silent), record.user == user {
                try await client.store.deleteToken()
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
        (tokens, isSignedOut) = (nil, true)
        if let kept { throw kept }
    }

    // MARK: Parts

    /// Sends a request of the session's; renews the access token once where the server does not take it.
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
            guard error.code == .refused, error.cause == "invalid_token" else { throw error }
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

    /// Renews the tokens; calls at the same time share one renewal, which nobody's cancelling ends.
    private func renew() async throws(TouchstoneError) -> Tokens {
        // The server takes the former tokens no more once it has answered a step-up.
        if let stepping, case .success(let new) = await stepping.value { return new }
        guard let old = tokens else { throw .signedOut }
        let task =
            renewal
            ?? Task { [client, proofKey] in
                do throws(TouchstoneError) {
                    return .success(try await client.refresh(old.refresh, proofKey))
                } catch {
                    return .failure(error)
                }
            }
        renewal = task
        let result = await task.value
        guard renewal == task else { return try result.get() }
        renewal = nil
        switch result {
        case .success(let new):
            // Signed out, or stepped up, meanwhile: what came is not taken up.
            guard let now = tokens else { throw .signedOut }
            guard now.access == old.access else { return now }
            tokens = new
            if new.refresh != old.refresh { await seal() }
            return new
        case .failure(let error):
            if error.isEndOfSession {
                if let now = tokens, now.access != old.access { return now }
                tokens = nil
                if let record = try? await client.store.find(.silent), record.user == user {
                    try? await client.store.deleteToken()
                }
            }
            throw error
        }
    }

    /// Seals the refresh token, where this device is set up for the account.
    ///
    /// A token that could not be sealed is no harm: the device's key signs in without it.
    func seal() async {
        guard let token = tokens?.refresh, let record = try? await client.store.find(.silent),
            record.user == user
        else { return }
        try? await client.store.seal(token)
    }

    /// Tells the server of devices that were given up here.
    func removeForgottenDevices() async {
        guard let all = try? await client.store.forgottenDevices() else { return }
        for forgotten in all where forgotten.user == user {
            do throws(TouchstoneError) {
                _ = try await call("DELETE", "/v1/credentials/\(forgotten.id)")
            } catch {
                guard error.code == .notFound else { continue }
            }
            try? await client.store.changeForgotten { devices in devices.removeAll { $0 == forgotten } }
        }
    }

    /// The device is set up.
    func noteSetUp() { isDeviceOffered = false }

    /// The refresh token of now.
    var refreshToken: String? { tokens?.refresh }
}

extension LoginDevice {
    fileprivate init(_ members: JSONObject, own: String?) throws(TouchstoneError) {
        guard let id = members["id"]?.string, Base64URL.decode(id)?.isEmpty == false else {
            throw .badReply("credentials: id")
        }
        guard let label = members["label"]?.string else { throw .badReply("credentials: label") }
        self.init(
            id: id,
            label: label,
            lastUsed: members["lastUsedAt"]?.integer.map { Date(timeIntervalSince1970: Double($0)) },
            isThisDevice: id == own
        )
    }
}

extension TouchstoneError {
    /// The session is over, by its own end or the server's.
    fileprivate static var signedOut: TouchstoneError {
        TouchstoneError(.refused, cause: "signedOut", nextStep: .setUpAgain)
    }
}
