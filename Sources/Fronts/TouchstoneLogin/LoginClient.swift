public import Foundation
public import Touchstone
internal import WebAuthnDevice
internal import WebAuthnModel

/// One account at one server: the password once, a key of this device from then on.
///
/// ```swift
/// let login = LoginClient(server: URL(string: "https://login.example.org")!)
/// if case .ready = try await login.state() { return try await login.signIn("Sign in to Example") }
/// let session = try await login.signIn(user: user, password: password)
/// _ = try await session.offer()?.accept(label: "Laptop", "Sign in by finger from now on")
/// ```
///
/// The server is one that speaks the API of `touchstone-server`. Two keys of the keychain stand for the device: one signs
/// the server's challenges under the rule, as a credential of WebAuthn; one binds refresh tokens to this device (DPoP,
/// RFC 9449). Both never leave the keychain. What is kept here is their sealed form, and a refresh token under the rule; it
/// is kept once the server has confirmed it, and not before. A value that neither asks, blocks nor fails.
public struct LoginClient: Sendable {
    /// The app's server.
    public let server: URL
    /// What a use of the device's key, and of what is sealed, demands.
    public let rule: AccessRule

    let api: LoginServer
    let keys: DeviceKeys
    let store: DeviceStore

    /// Names a server.
    ///
    /// - Parameters:
    ///   - server: Its address as it names itself, `https://` but for this machine; it is also the app's origin.
    ///   - rule: What a use demands; one that asks nobody is refused where it is used.
    ///   - timeout: How long each response of the server may take.
    ///   - transport: What carries requests.
    ///   - keychain: Where keys and tokens are.
    public init(
        server: URL,
        rule: AccessRule = .biometry,
        timeout: Duration = .seconds(30),
        transport: any LoginTransport = .urlSession,
        in keychain: Keychain = .current
    ) {
        self.server = server
        self.rule = rule
        api = LoginServer(server, transport, patience: timeout)
        keys = DeviceKeys(keychain: keychain, origin: api.origin, host: api.host)
        store = DeviceStore(api.base, rule, keychain)
    }

    // MARK: Where the app stands

    /// Whether this device can sign in, by its key itself; shows nothing, and asks no server.
    ///
    /// - Returns: the state.
    /// - Throws: `TouchstoneError`: `locked`, `damaged`, `ruleMismatch` for a device that was set up under another rule.
    public func state() async throws(TouchstoneError) -> LoginState {
        let record: DeviceRecord
        do throws(TouchstoneError) {
            record = try await store.require(.silent)
        } catch {
            guard error.code == .notFound else { throw error }
            return .signedOut
        }
        return try await keys.isUsable(record.credential)
            ? .ready(record.device) : .invalidated(record.device)
    }

    // MARK: Signing in

    /// Signs in by password: steps 1 to 4.
    ///
    /// The session's refresh token is bound to a key of this device. Nothing is kept: that is what
    /// ``LoginSession/offer()`` is for.
    ///
    /// - Parameters:
    ///   - user: The account's name.
    ///   - password: Its password.
    /// - Returns: the session.
    /// - Throws: `TouchstoneError`: `refused` for a wrong name or password, `throttled` with the time to wait,
    ///   `unreachable`, `timedOut`, `untrustedServer`, `badReply`; `damaged` where what is kept of the device cannot be read,
    ///   until ``forgetDevice()``.
    public func signIn(user: String, password: String) async throws(TouchstoneError) -> LoginSession {
        let kept = try await store.find(.standard)
        // A device that the server knows is one whose attempts are counted apart from strangers'.
        let proofKey: Data =
            if let kept, kept.user == user { kept.proofKey } else { try await keys.makeProofKey() }
        let answer = try await api.call(
            "POST",
            "/v1/login/password",
            .json(["username": .string(user), "password": .string(password)]),
            prove: keys.prove(proofKey)
        )
        let session = LoginSession(
            self,
            user: user,
            proofKey: proofKey,
            try Tokens(answer, from: api),
            .withoutKey(try await keys.hardwareLevel()),
            isDeviceOffered: answer["offerDeviceLogin"]?.bool ?? false
        )
        await session.removeForgottenDevices()
        return session
    }

    /// Signs in by the device's key, which signs the server's challenge after one prompt: steps 8 and 9.
    ///
    /// - Parameter prompt: What the prompt says.
    /// - Returns: the session.
    /// - Throws: `TouchstoneError`: `notFound` where the device was not set up, `invalidated`, `refused` where the server does
    ///   not take the device any more, those of a prompt and of a server.
    public func signIn(_ prompt: PromptText) async throws(TouchstoneError) -> LoginSession {
        let record = try await usableRecord(prompt)
        let ceremony = try Ceremony(
            try await api.call("POST", "/v1/login/options", .json([:])),
            from: api
        )
        let (assertion, assurance) = try await assert(ceremony.publicKey, by: record, prompt)
        let answer = try await finish(ceremony, assertion, record.proofKey)
        let session = LoginSession(
            self,
            user: record.user,
            proofKey: record.proofKey,
            try Tokens(answer, from: api),
            assurance,
            isDeviceOffered: false
        )
        await session.seal()
        return session
    }

    /// Opens the sealed refresh token after one prompt and goes on with the session that it belongs to: step 10.
    ///
    /// - Parameter prompt: What the prompt says.
    /// - Returns: the session.
    /// - Throws: `TouchstoneError`: `notFound` where no session is kept, `invalidated`, `refused` where the server ended it,
    ///   those of a prompt and of a server.
    public func resume(_ prompt: PromptText) async throws(TouchstoneError) -> LoginSession {
        let record = try await usableRecord(prompt)
        let token = try await store.open(prompt)
        let tokens: Tokens
        do throws(TouchstoneError) {
            tokens = try await refresh(token, record.proofKey)
        } catch {
            // It will never be good again.
            if error.isEndOfSession { try? await store.deleteToken() }
            throw error
        }
        let session = LoginSession(
            self,
            user: record.user,
            proofKey: record.proofKey,
            tokens,
            .withoutKey(try await keys.hardwareLevel()),
            isDeviceOffered: false
        )
        if tokens.refresh != token { await session.seal() }
        return session
    }

    /// Gives this device up: deletes its key and its token, also invalidated ones; asks nobody.
    ///
    /// The server is told at the next sign-in by password, as it takes no such word without a session; whoever has a session
    /// tells it at once with ``LoginSession/remove(_:)``.
    ///
    /// - Throws: `TouchstoneError`: `locked`.
    public func forgetDevice() async throws(TouchstoneError) {
        do throws(TouchstoneError) {
            if let record = try await store.find(.silent) {
                try await store.forget(record.user, record.device.id)
            }
        } catch {
            // What is damaged cannot be told of, and is given up as well.
            guard error.code == .damaged else { throw error }
        }
        try await store.delete()
    }

    // MARK: Parts

    /// The record of a device whose key can be used.
    private func usableRecord(_ prompt: PromptText) async throws(TouchstoneError) -> DeviceRecord {
        let record = try await store.require(.prompt(prompt))
        guard try await keys.isUsable(record.credential) else { throw TouchstoneError(.invalidated) }
        return record
    }

    /// Has the device's key sign what a server began.
    func assert(
        _ publicKey: JSONValue,
        by record: DeviceRecord,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> (JSONValue, Assurance) {
        let options = try onDevice { () throws(DeviceError) in try RequestOptions(parsing: publicKey) }
        return try await keys.assert(options, by: record.credential, rule, prompt)
    }

    /// Answers a login's ceremony.
    func finish(
        _ ceremony: Ceremony,
        _ assertion: JSONValue,
        _ proofKey: Data
    ) async throws(TouchstoneError) -> JSONObject {
        do throws(TouchstoneError) {
            return try await api.call(
                "POST",
                "/v1/login",
                .json(["ceremonyId": .string(ceremony.id), "credential": assertion]),
                prove: keys.prove(proofKey)
            )
        } catch {
            // The key signed, and the server does not take it: the device was removed from the account, or suspended.
            guard error.code == .refused, error.cause == "authentication_failed" else { throw error }
            throw TouchstoneError(
                .refused,
                part: error.part,
                cause: error.cause,
                nextStep: .setUpAgain,
                details: error.details
            )
        }
    }

    /// Renews a session (RFC 6749, section 6; RFC 9449, section 5).
    func refresh(_ token: String, _ proofKey: Data) async throws(TouchstoneError) -> Tokens {
        let answer = try await api.call(
            "POST",
            "/v1/token",
            .form([("grant_type", "refresh_token"), ("refresh_token", token)]),
            prove: keys.prove(proofKey)
        )
        return try Tokens(answer, from: api)
    }
}

extension DeviceKeys {
    /// Makes proofs by a session key.
    func prove(_ key: Data) -> (String, String, String?) async throws(TouchstoneError) -> String {
        { method, url, nonce throws(TouchstoneError) in
            try await proof(by: key, method, url, nonce: nonce)
        }
    }
}
