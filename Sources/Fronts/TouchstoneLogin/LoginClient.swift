public import Foundation
public import Touchstone
internal import WebAuthnDevice
internal import WebAuthnModel

/// A client for one server: the password signs in once, then a key of this device.
///
/// ```swift
/// let login = LoginClient(server: URL(string: "https://login.example.org")!)
/// if case .ready = try await login.state("Sign in to Example") { return try await login.signIn("Sign in to Example") }
/// let session = try await login.signIn(user: user, password: password)
/// try await session.offer()?.accept(label: "Laptop", "Sign in by finger from now on")
/// ```
///
/// Several people can set the device up for themselves: ``accounts(_:)`` lists them, and ``account(_:)`` chooses one. With exactly one
/// no choice is needed; with several and none chosen, calls that need one throw `limitExceeded` with the cause `severalAccounts`.
///
/// The server must implement the API of `touchstone-server`. Two keys in the keychain represent the device: one signs the
/// server's challenges under the rule, as a WebAuthn credential; the other binds refresh tokens to this device (DPoP, RFC
/// 9449). Neither leaves the keychain. The app stores their sealed form, and a refresh token under the rule, only after the
/// server has confirmed the registration. A client is a plain value: making one shows no prompt, does not block and cannot
/// fail.
public struct LoginClient: Sendable {
    /// The server's address.
    public let server: URL
    /// What each use of the device's key and of the sealed token requires.
    public let rule: AccessRule

    let api: LoginServer
    let keys: DeviceKeys
    let store: DeviceStore
    /// The id of the chosen account; nil: the only one there is.
    var chosen: String?

    /// Makes a client for a server; does not access the network or the keychain.
    ///
    /// - Parameters:
    ///   - server: The server's canonical address, `https://` except on this machine; also the app's origin.
    ///   - rule: What each use requires; a rule without a prompt is rejected when it is used.
    ///   - timeout: The time limit for each response of the server.
    ///   - transport: The transport of requests.
    ///   - keychain: The keychain that holds keys and tokens.
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

    /// Whether this device can sign in with its key; waits for no answer of the server.
    ///
    /// A key that was invalidated, or deleted here, is reported to the server meanwhile, if it can be reached: also by
    /// ``signIn(_:)``, ``resume(_:)`` and ``forgetDevice()``, and again at the next of these calls if it failed. The session key proves
    /// the report, which ends that key and nothing else.
    ///
    /// - Parameter prompt: The text of the prompt for the passcode, which is asked for if the keychain is locked, and only then;
    ///   nil: no prompt is shown, and the result is ``LoginState/locked``.
    /// - Returns: the state.
    /// - Throws: `TouchstoneError`: `damaged`, `ruleMismatch` for a device that was set up under another rule, `limitExceeded` with
    ///   several accounts and none chosen, the errors of a prompt.
    public func state(_ prompt: PromptText? = nil) async throws(TouchstoneError) -> LoginState {
        defer { reportEndedKeys() }
        do throws(TouchstoneError) {
            let record = try await store.require(chosen, prompt.map { .prompt($0) } ?? .silent)
            return try await keys.isUsable(record.credential)
                ? .ready(record.device) : .invalidated(record.device)
        } catch {
            switch error.code {
            case .notFound: return .signedOut
            case .locked: return .locked
            default: throw error
            }
        }
    }

    // MARK: Signing in

    /// Signs in with the password: steps 1 to 4.
    ///
    /// The session's refresh token is bound to a key of this device. Nothing is stored; ``LoginSession/offer()`` leads to that.
    ///
    /// - Parameters:
    ///   - user: The account's name.
    ///   - password: The account's password.
    /// - Returns: the session.
    /// - Throws: `TouchstoneError`: `wrongPassword`, also for a wrong name, `throttled` with the time to wait,
    ///   `unreachable`, `timedOut`, `untrustedServer`, `badReply`; `damaged` if the stored data of the device cannot be read,
    ///   until ``forgetDevice()``.
    public func signIn(user: String, password: String) async throws(TouchstoneError) -> LoginSession {
        let kept = try await store.all(.standard)
        // The server counts failed attempts of a known device separately from those of unknown clients.
        let proofKey: Data =
            if let own = kept.first(where: { $0.user == user }) {
                own.proofKey
            } else {
                try await keys.makeProofKey()
            }
        let level = try await keys.hardwareLevel()
        let answer = try await sendPassword(
            ["username": .string(user), "password": .string(password), "hardware": .string(level.name)],
            proofKey
        )
        let tokens = try Tokens(answer, from: api)
        // The name is not what makes an account: it may have changed.
        for own in kept where own.user != user && (try? own.account) == tokens.account {
            try? await store.rename(own, to: user)
        }
        let session = LoginSession(
            self,
            user: user,
            proofKey: proofKey,
            tokens,
            .withoutKey(level),
            isDeviceOffered: answer["offerDeviceLogin"]?.bool ?? false
        )
        await session.removeForgottenDevices()
        reportEndedKeys()
        return session
    }

    /// Signs in with the device's key, which signs the server's challenge after one prompt: steps 8 and 9.
    ///
    /// - Parameter prompt: The text of the prompt.
    /// - Returns: the session.
    /// - Throws: `TouchstoneError`: `notFound` if the device was not set up, `invalidated`, `deviceRevoked` if the server no
    ///   longer accepts the device, `expired` if the time is over for which it accepts a key, `limitExceeded` with several accounts and
    ///   none chosen, the errors of a prompt and of a server.
    public func signIn(_ prompt: PromptText) async throws(TouchstoneError) -> LoginSession {
        let record = try await usableRecord(prompt)
        let ceremony = try Ceremony(
            try await api.call("POST", "/v1/login/options", .json([:])),
            from: api
        )
        let (assertion, assurance) = try await assert(ceremony.publicKey, by: record, prompt)
        let answer = try await finish(ceremony, assertion, record.proofKey)
        let tokens = try Tokens(answer, from: api)
        guard tokens.account == (try record.account) else { throw .badReply("sub") }
        let session = LoginSession(
            self,
            user: record.user,
            proofKey: record.proofKey,
            tokens,
            assurance,
            isDeviceOffered: tokens.isKeyDue
        )
        await session.seal()
        return session
    }

    /// Reads the sealed refresh token after one prompt and resumes its session: step 10.
    ///
    /// - Parameter prompt: The text of the prompt.
    /// - Returns: the session.
    /// - Throws: `TouchstoneError`: `notFound` if no session is stored, `invalidated`, `sessionEnded` if the server ended the
    ///   session, `limitExceeded` with several accounts and none chosen, the errors of a prompt and of a server.
    public func resume(_ prompt: PromptText) async throws(TouchstoneError) -> LoginSession {
        let record = try await usableRecord(prompt)
        let account = try record.account
        let token = try await store.open(account, prompt)
        let tokens: Tokens
        do throws(TouchstoneError) {
            tokens = try await refresh(token, record.proofKey)
        } catch {
            // The token will never be accepted again.
            if error.isEndOfSession { try? await store.deleteToken(account) }
            throw error
        }
        guard tokens.account == account else { throw .badReply("sub") }
        let session = LoginSession(
            self,
            user: record.user,
            proofKey: record.proofKey,
            tokens,
            .withoutKey(try await keys.hardwareLevel()),
            isDeviceOffered: false
        )
        await session.seal()
        return session
    }

    /// Deletes the account's key and token on this device, even invalidated ones; shows no prompt.
    ///
    /// The server is notified as ``state(_:)`` says; nobody waits for it. With a session, call ``LoginSession/remove(_:)`` instead, which
    /// removes the device from the account's list too. A record that cannot be read is deleted, and then nothing else.
    ///
    /// - Throws: `TouchstoneError`: `locked`, `limitExceeded` with several accounts and none chosen.
    public func forgetDevice() async throws(TouchstoneError) {
        let record: DeviceRecord?
        do throws(TouchstoneError) {
            record = try await store.choose(chosen, .silent)
        } catch {
            // A damaged record names no credential to remove on the server.
            guard error.code == .damaged else { throw error }
            return try await store.deleteDamaged(chosen)
        }
        guard let record else { return }
        do throws(TouchstoneError) {
            try await store.forget(try ForgottenDevice(record))
        } catch {
            guard error.code == .damaged else { throw error }
        }
        try await store.delete(try record.account)
        reportEndedKeys()
    }

    // MARK: Parts

    /// The record of the device, if its key can be used.
    private func usableRecord(_ prompt: PromptText) async throws(TouchstoneError) -> DeviceRecord {
        let record = try await store.require(chosen, .prompt(prompt))
        guard try await keys.isUsable(record.credential) else {
            reportEndedKeys()
            throw TouchstoneError(.invalidated)
        }
        return record
    }

    /// Signs the server's challenge with the device's key.
    func assert(
        _ publicKey: JSONValue,
        by record: DeviceRecord,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> (JSONValue, Assurance) {
        let options = try onDevice { () throws(DeviceError) in try RequestOptions(parsing: publicKey) }
        return try await keys.assert(options, by: record.credential, rule, prompt)
    }

    /// Completes the ceremony of a login.
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
            // The key signed, but the server rejected it: the device was removed from the account or suspended. For anyone who
            // has not signed, the server does not tell this from a wrong signature.
            throw error == .signatureRefused ? error.with(.deviceRevoked) : error
        }
    }

    /// Sends a password.
    ///
    /// - Parameters:
    ///   - body: the request's members.
    ///   - proofKey: the key that the session's tokens are bound to.
    ///   - access: the access token of the session that is renewed; nil for a new session.
    /// - Returns: the reply.
    /// - Throws: `TouchstoneError`: `wrongPassword`, the errors of a server.
    func sendPassword(
        _ body: JSONValue,
        _ proofKey: Data,
        access: String? = nil
    ) async throws(TouchstoneError) -> JSONObject {
        do throws(TouchstoneError) {
            return try await api.call(
                "POST",
                "/v1/login/password",
                .json(body),
                access: access,
                prove: keys.prove(proofKey)
            )
        } catch {
            throw error.asPassword
        }
    }

    /// Renews a session (RFC 6749, section 6; RFC 9449, section 5).
    ///
    /// - Parameters:
    ///   - token: the refresh token.
    ///   - proofKey: the key that it is bound to.
    ///   - audience: what the access token is for; nil: the account's API of the server.
    /// - Returns: the tokens.
    /// - Throws: `TouchstoneError`: the errors of a server.
    func refresh(
        _ token: String,
        _ proofKey: Data,
        for audience: Audience? = nil
    ) async throws(TouchstoneError) -> Tokens {
        let answer = try await api.call(
            "POST",
            "/v1/token",
            .form([("grant_type", "refresh_token"), ("refresh_token", token)] + (audience?.fields ?? [])),
            prove: keys.prove(proofKey)
        )
        return try Tokens(answer, from: api)
    }
}

extension DeviceKeys {
    /// Makes DPoP proofs with a session key; without a text no prompt may be shown.
    func prove(_ key: Data, asking text: PromptText? = .standard) -> LoginServer.Prove {
        { method, url, nonce, access throws(TouchstoneError) in
            try await proof(by: key, method, url, nonce: nonce, access: access, asking: text)
        }
    }
}
