internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// Making an account for oneself, if the settings allow it.
enum SelfRegistrationRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/v1/accounts", "registerAccount", .open, handle: register)
    ]

    /// How many names an address may ask for in an hour, whether they are free or not.
    static let mostPerHour = 10

    /// A taken name is told, since whoever asks needs another one; but only to a request that is right otherwise, within
    /// the limit, and after the same work as for a free one.
    private static func register(_ service: Service, _ call: Call) async throws -> Reply {
        guard service.configuration.selfRegistration else {
            throw Problem(.forbidden, "accounts are made by an administrator")
        }
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let text = reader.string("username", bytes: 1...1024)
        let displayName = reader.optionalLabel("displayName")
        let password = reader.string("password", bytes: 0...PasswordPolicy.mostBytes)
        try reader.finish()
        let name = try UserRoutes.prepared(text)
        try service.passwordPolicy.check(password, username: name)
        if service.passwords.isFull { throw Problem.overloaded("passwords queue up", retryAfter: 1) }
        let limit = RateLimit(
            LimitKey("account-open", call.limitSubject),
            most: mostPerHour,
            window: .seconds(3600)
        )
        if case .exceeded(_, let until) = try await service.store.take([limit], now: call.now) {
            await service.audit(call.event(.rateLimitExceeded, reason: "account-address"), at: call.now)
            throw service.throttled("account-address", until, call)
        }
        let hash = try await service.passwords.hash(password)
        try await service.requireFree(text, as: name, of: nil)
        let account = Account(
            id: .random(byteCount: 32),
            username: name,
            displayName: displayName ?? text,
            createdAt: call.now,
            password: PasswordRecord(hash: hash, changedAt: call.now)
        )
        let scripts = Script.mixed(in: name).map { JSONValue.array($0.map { .string($0) }) }
        try await service.store.createAccount(
            account,
            audit: call.event(
                .userCreated,
                account: account.id,
                reason: "self_registration",
                details: scripts.map { JSONValue(members: ["mixedScripts": $0]).canonicalText } ?? ""
            ),
            now: call.now
        )
        return .json(
            [
                "id": JSONValue(base64URL: account.id.bytes),
                "username": .string(account.username),
                "displayName": .string(account.displayName),
            ],
            status: .created
        )
    }
}

extension JSONValue {
    /// The canonical text; empty for a value that has none, which is a defect.
    fileprivate var canonicalText: String {
        String(decoding: (try? CanonicalJSON.encode(self)) ?? [], as: UTF8.self)
    }
}
