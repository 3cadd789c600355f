internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import RelyingParty
internal import WebAuthnModel

/// The caller's account.
enum AccountRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/v1/me", "me", .session, tasks: Set(SessionTask.allCases), handle: me),
        Operation(
            .put,
            "/v1/me/password",
            "changePassword",
            .fresh,
            tasks: Set(SessionTask.allCases),
            handle: changePassword
        ),
        Operation(.post, "/v1/logout", "logout", .session, tasks: Set(SessionTask.allCases), handle: logout),
    ]

    private static func me(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let credentials = try await service.store.credentials(of: caller.account.id)
        let sessions = try await service.store.sessions(of: caller.account.id, now: call.now)
        return .json(
            JSONValue(members: [
                "id": JSONValue(base64URL: caller.account.id.bytes),
                "username": .string(caller.account.username),
                "displayName": .string(caller.account.displayName),
                "sessionId": JSONValue(base64URL: caller.session.id.bytes),
                "acr": .string(caller.session.acr),
                "amr": .array(caller.session.amr.map { .string($0) }),
                "authTime": .integer(caller.session.authTime.seconds),
                "hasPassword": .bool(caller.account.password != nil),
                "stepUp": .array(stepUp(caller, credentials, service).map { .string($0) }),
                "credentials": .integer(Int64(credentials.count)),
                "sessions": .integer(Int64(sessions.count)),
                "task": caller.session.task.map { .string($0.rawValue) },
            ])
        )
    }

    /// How the session can be authenticated again: by methods that are as strong as its own.
    private static func stepUp(
        _ caller: AuthenticatedSession,
        _ credentials: [Credential],
        _ service: Service
    ) -> [String] {
        let acr = caller.session.acr
        let demand = service.configuration.requiredAssuranceStepUp
        let isByPasskey = credentials.contains {
            $0.suspension == nil && AuthenticationContext.isAtLeast($0.acr, acr)
        }
        let isByPassword =
            caller.account.password != nil
            && !(demand.isBeyondPassword && credentials.contains(where: demand.canBeMet))
            && AuthenticationContext.isAtLeast(AuthenticationContext.password, acr)
        return (isByPasskey ? ["passkey"] : []) + (isByPassword ? ["password"] : [])
    }

    private static func changePassword(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let current = reader.optionalString("current", bytes: 0...PasswordPolicy.mostBytes)
        let new = reader.string("new", bytes: 0...PasswordPolicy.mostBytes)
        try reader.finish()
        let account = caller.account
        // Whoever got in by a link or a recovery code does not know it.
        let isSetUp = caller.session.task == .setUp
        if let stored = account.password?.hash, !isSetUp {
            let attempt = try await service.takePasswordAttempt(account.username, nil, nil, call)
            guard case .correct = try await service.check(current ?? "", against: stored, attempt, call)
            else {
                await service.audit(
                    call.event(.passwordChangeFail, account: account.id, session: caller.session.id),
                    at: call.now
                )
                throw Problem.authenticationFailed("wrong_password")
            }
            try await service.store.giveBack([attempt.addressKey], now: call.now)
            try await service.store.reset([attempt.key])
            if account.password?.mustChange == true, new == current {
                throw Problem.weakPassword(.unchanged, "it is the one that has to be changed")
            }
        }
        try service.passwordPolicy.check(new, username: account.username)
        try await service.store.changePassword(
            of: account.id,
            checked: account.password?.hash,
            to: PasswordRecord(hash: try await service.passwords.hash(new), changedAt: call.now),
            keeping: caller.session.id,
            task: caller.session.task,
            audit: call.event(
                .passwordChange,
                account: account.id,
                session: caller.session.id,
                reason: caller.session.task?.rawValue ?? ""
            ),
            now: call.now
        )
        if isSetUp { try await service.store.reset([LimitKey("password", account.username)]) }
        var reply = Reply.noContent
        service.endTask(of: caller, on: &reply)
        return reply
    }

    private static func logout(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        try await service.store.endSession(
            caller.session.id,
            of: caller.account.id,
            audit: call.event(.sessionLogout, account: caller.account.id, session: caller.session.id),
            now: call.now
        )
        var reply = Reply.noContent
        if caller.isInCookies { service.cookies.remove(on: &reply) }
        return reply
    }
}
