internal import AccountStore
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// Accounts, for administrators.
enum UserRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/admin/v1/users", "listUsers", .admin(.read), handle: list),
        Operation(.post, "/admin/v1/users", "createUser", .admin(.all), handle: create),
        Operation(.get, "/admin/v1/users/{id}", "user", .admin(.read)) { service, call in
            .json(try await account(service, call).json)
        },
        Operation(.patch, "/admin/v1/users/{id}", "updateUser", .admin(.all), handle: update),
        Operation(.delete, "/admin/v1/users/{id}", "deleteUser", .admin(.all), handle: delete),
        Operation(
            .put,
            "/admin/v1/users/{id}/password",
            "setPassword",
            .admin(.helpDesk),
            handle: setPassword
        ),
        Operation(.post, "/admin/v1/users/{id}/lock", "lockUser", .admin(.helpDesk)) { service, call in
            try await setLocked(true, service, call)
        },
        Operation(.post, "/admin/v1/users/{id}/unlock", "unlockUser", .admin(.helpDesk)) { service, call in
            try await setLocked(false, service, call)
        },
    ]

    /// The account named by the path.
    static func account(_ service: Service, _ call: Call) async throws -> Account {
        guard let account = try await service.store.account(AccountID(try call.identifierBytes())) else {
            throw Problem(.notFound)
        }
        return account
    }

    private static func list(_ service: Service, _ call: Call) async throws -> Reply {
        let count = try call.pageSize()
        // The framework percent-decodes the query.
        let accounts = try await service.store.accounts(after: call.query("after") ?? "", count: count)
        return .json(
            JSONValue(members: [
                "users": .array(accounts.map(\.json)),
                "next": accounts.count == count ? accounts.last.map { .string($0.username) } : nil,
            ])
        )
    }

    /// The form of a new name of an account; `id` is the account that may have it already.
    ///
    /// - Throws: ``Problem`` with `invalid_request` or `username_taken`; ``StoreError``.
    private static func username(_ text: String, of id: AccountID?, _ service: Service) async throws -> String
    {
        let name = try prepared(text)
        try await service.requireFree(text, as: name, of: id)
        return name
    }

    /// The form in which a new name is stored.
    ///
    /// - Throws: ``Problem`` with `invalid_request`.
    static func prepared(_ text: String) throws(Problem) -> String {
        do throws(Username.Refusal) { return try Username.prepared(text) } catch {
            throw .invalidMember("username", error.detail)
        }
    }

    private static func create(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let text = reader.string("username", bytes: 1...1024)
        let displayName = reader.optionalLabel("displayName")
        let password = reader.optionalString("password", bytes: 0...PasswordPolicy.mostBytes)
        let mustChange = reader.optionalBool("mustChangePassword") ?? false
        try reader.finish()
        guard !mustChange || password != nil else {
            throw Problem.invalidMember("mustChangePassword", "needs a password")
        }
        let name = try await username(text, of: nil, service)
        var record: PasswordRecord?
        if let password {
            try service.passwordPolicy.check(password, username: name)
            record = PasswordRecord(
                hash: try await service.passwords.hash(password),
                changedAt: call.now,
                mustChange: mustChange
            )
        }
        let account = Account(
            id: .random(byteCount: 32),
            username: name,
            displayName: displayName ?? text,
            createdAt: call.now,
            password: record
        )
        try await service.store.createAccount(
            account,
            audit: call.event(
                .userCreated,
                account: account.id,
                details: call.adminDetails(mixedScripts: Script.mixed(in: name))
            ),
            now: call.now
        )
        return Reply.json(account.json, status: .created)
            .with(.location, "/admin/v1/users/\(Base64URL.encode(account.id.bytes))")
    }

    private static func update(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try await account(service, call)
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let text = reader.optionalString("username", bytes: 1...1024)
        let displayName = reader.optionalLabel("displayName")
        try reader.finish()
        let name = if let text { try await username(text, of: account.id, service) } else { account.username }
        try await service.store.renameAccount(
            account.id,
            username: name,
            displayName: displayName ?? account.displayName,
            audit: call.event(
                .userUpdated,
                account: account.id,
                details: call.adminDetails(mixedScripts: text == nil ? nil : Script.mixed(in: name))
            ),
            now: call.now
        )
        return .json(try await self.account(service, call).json)
    }

    private static func delete(_ service: Service, _ call: Call) async throws -> Reply {
        let id = AccountID(try call.identifierBytes())
        try await service.store.deleteAccount(
            id,
            audit: call.event(.userDeleted, account: id, details: call.adminDetails()),
            now: call.now
        )
        return .noContent
    }

    private static func setPassword(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try await account(service, call)
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let new = reader.string("new", bytes: 0...PasswordPolicy.mostBytes)
        let mustChange = reader.optionalBool("mustChangePassword") ?? false
        try reader.finish()
        // A password that the help desk knows must not stay the owner's.
        let role = try call.role
        guard mustChange || role == .all else {
            throw await service.refuse(role, "mustChangePassword has to be true", call)
        }
        try service.passwordPolicy.check(new, username: account.username)
        try await service.store.changePassword(
            of: account.id,
            checked: account.password?.hash,
            to: PasswordRecord(
                hash: try await service.passwords.hash(new),
                changedAt: call.now,
                mustChange: mustChange
            ),
            keeping: nil,
            audit: call.event(
                .passwordChange,
                account: account.id,
                reason: mustChange ? "administrator_must_change" : "administrator",
                details: call.adminDetails()
            ),
            now: call.now
        )
        // A user who forgot the password has failed with it before.
        try await service.store.reset([LimitKey("password", account.username)])
        return .noContent
    }

    private static func setLocked(_ locked: Bool, _ service: Service, _ call: Call) async throws -> Reply {
        let id = AccountID(try call.identifierBytes())
        try await service.store.setLocked(
            locked,
            account: id,
            audit: call.event(
                .loginLock,
                account: id,
                reason: locked ? "locked" : "unlocked",
                details: call.adminDetails()
            ),
            now: call.now
        )
        return .json(try await account(service, call).json)
    }
}

extension Service {
    /// Requires that nobody else has a name in another form that somebody may type.
    ///
    /// - Throws: ``Problem`` with `username_taken`; ``StoreError``.
    func requireFree(_ text: String, as name: String, of id: AccountID?) async throws {
        // An account from before names were mapped by width: who types its name means that one.
        for form in TypedName(text).forms where form != name {
            guard try await store.account(username: form).map({ $0.id == id }) ?? true else {
                throw Problem(.usernameTaken)
            }
        }
    }
}

extension Account {
    /// The form for administrators.
    var json: JSONValue {
        JSONValue(members: [
            "id": JSONValue(base64URL: id.bytes),
            "username": .string(username),
            "displayName": .string(displayName),
            "mixedScripts": Script.mixed(in: username).map { .array($0.map { .string($0) }) },
            "createdAt": .integer(createdAt.seconds),
            "lockedAt": lockedAt.map { .integer($0.seconds) },
            "hasPassword": .bool(password != nil),
            "passwordChangedAt": password.map { .integer($0.changedAt.seconds) },
            "mustChangePassword": password?.mustChange == true ? true : nil,
        ])
    }
}
