internal import AccountStore
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import RelyingParty

/// Runs operations: identifies the caller, calls the handler, and converts errors to responses.
struct Dispatch: Sendable {
    let current: CurrentService

    /// Adds operations to a router.
    func add(_ operations: [Operation], to router: Router<ServerContext>) {
        for operation in operations {
            router.on(RouterPath(operation.path), method: operation.method) { request, context in
                await Dispatched(service: current.value).respond(to: request, context, operation)
            }
        }
    }

}

/// A request with the service that was in force when it arrived.
private struct Dispatched {
    let service: Service

    func respond(to request: Request, _ context: ServerContext, _ operation: Operation) async
        -> Response
    {
        var call = Call(
            request: request,
            parameters: context.parameters,
            traceID: CurrentTrace.id,
            address: ClientAddress.of(context, request, service.configuration),
            now: .now,
            hasMailHook: service.mailHook != nil
        )
        var response: Response
        do {
            call.caller = try await caller(of: call, operation)
            response = try await operation.handle(service, call).response()
        } catch {
            log(error, call, operation)
            response = ErrorReply.response(
                for: error,
                request,
                call.traceID,
                asOAuth: operation.hasOAuthErrors
            )
        }
        if operation.takesDPoP { response.headers[.dpopNonce] = service.nonces.nonce(at: call.now.seconds) }
        return response
    }

    /// Logs the server's own errors in full, and refusals at a lower level only, so that many of them do not fill the
    /// log.
    private func log(_ error: any Error, _ call: Call, _ operation: Operation) {
        let problem = ErrorReply.problem(of: error)
        let isOwn = !(error is Problem || error is OAuthProblem) && problem.code == .internalError
        service.logger.log(
            level: isOwn || problem.code == .overloaded && !(error is Problem) ? .error : .debug,
            "\(operation.id): \(isOwn ? "\(error)" : problem.reason ?? problem.code.rawValue)",
            metadata: ["trace": "\(call.traceID)"]
        )
    }

    /// Identifies the caller as the operation requires.
    ///
    /// - Throws: ``Problem``; ``StoreError``.
    private func caller(of call: Call, _ operation: Operation) async throws -> Call.Caller {
        let access = operation.access
        let credentials = ServiceCredentials(call.request)
        let token: String? = if case .bearer(let token) = credentials { token } else { nil }
        switch access {
        case .open: return .anybody
        case .openOrSession:
            if let token { return .session(try await session(token, call, operation)) }
            // A caller with only an expired cookie, or that of a limited session, is anonymous.
            let session = try await sessionInCookies(call)
            return session.flatMap { $0.session.task == nil ? .session($0) : nil } ?? .anybody
        case .session: return .session(try await session(token, call, operation))
        case .fresh:
            var session = try await session(token, call, operation)
            if session.session.task == nil {
                try service.requireFresh(session, call)
                try await service.requireAssurance(of: session)
            }
            do {
                session.proof = try await service.possession(of: session, token, call)
            } catch var problem as Problem where [.invalidDPoPProof, .useDPoPNonce].contains(problem.code) {
                problem.isOfResource = true
                throw problem
            }
            return .session(session)
        case .service, .serviceOrForm:
            if let name = credentials.flatMap(service.serviceSecrets.service) { return .service(name) }
            // The form is read later.
            if access == .serviceOrForm, call.request.headers[.authorization] == nil { return .anybody }
            throw Problem.invalidToken(wasShown: token != nil)
        case .serviceOrSession:
            if let name = credentials.flatMap(service.serviceSecrets.service) { return .service(name) }
            // Not the session of a cookie: whoever sends Basic is no page.
            if case .basic = credentials { throw Problem.invalidToken(wasShown: false) }
            return .session(try await session(token, call, operation))
        case .admin(let role):
            guard let token, let parsed = OpaqueToken(token, .administration),
                let admin = try await service.store.adminToken(TokenDigest(parsed.digest), now: call.now)
            else {
                await service.audit(call.event(.authorizationFail, reason: "admin_token"), at: call.now)
                throw Problem.invalidToken(wasShown: token != nil)
            }
            let caller = Call.Caller.admin(admin.name, admin.role)
            guard admin.role >= role else {
                throw await service.refuse(admin.role, "this needs \(role.rawValue)", call.by(caller))
            }
            return caller
        }
    }

    /// The calling session, whose task, if it has one, the operation must serve.
    private func session(_ token: String?, _ call: Call, _ operation: Operation) async throws
        -> AuthenticatedSession
    {
        let session =
            if let token { try await live(token, call) } else { try await sessionInCookies(call) }
        guard let session else { throw Problem.invalidToken(wasShown: token != nil) }
        if let task = session.session.task, !operation.tasks.contains(task) {
            throw Problem(.sessionLimited, task.limits)
        }
        return session
    }

    private func live(_ token: String, _ call: Call) async throws -> AuthenticatedSession? {
        guard let parsed = OpaqueToken(token, .access) else { return nil }
        let digest = TokenDigest(parsed.digest)
        // A statement of its own: the optimiser of Swift 6.3 crashes on the call in a condition.
        let live = try await service.store.liveSession(digest, .access, now: call.now)
        // A token for a resource server opens nothing here: whoever got it from a client is not the client.
        guard let live, live.grant == nil else { return nil }
        return AuthenticatedSession(session: live.session, account: live.account)
    }

    /// The session of the cookies; since a browser sends cookies with any page's requests, other methods than GET and HEAD
    /// need a listed origin.
    private func sessionInCookies(_ call: Call) async throws -> AuthenticatedSession? {
        guard let token = service.cookies.token(.access, in: call.request) else { return nil }
        if ![.get, .head].contains(call.request.method) { try service.requireListedOrigin(call.request) }
        var session = try await live(token, call)
        session?.isInCookies = true
        return session
    }
}

extension SessionTask {
    /// What a session with it can do.
    fileprivate var limits: String {
        switch self {
        case .setUp: "it can register a credential or set a password, and ends with that"
        case .changePassword: "it can change the password, and ends with that"
        }
    }
}

extension Problem {
    static func invalidToken(wasShown: Bool) -> Problem {
        var problem = Problem(.invalidToken)
        problem.hadToken = wasShown
        return problem
    }
}

extension Service {
    /// The refusal of what an administrator's role does not allow, after it is in the audit.
    func refuse(_ role: AdminRole, _ reason: String, _ call: Call) async -> Problem {
        await audit(
            call.event(.authorizationFail, reason: "admin_role", details: call.adminDetails()),
            at: call.now
        )
        return Problem(.forbidden, "the token's role is \(role.rawValue): \(reason)")
    }
}

extension Call {
    /// The same request, of an identified caller.
    func by(_ caller: Caller) -> Call {
        var call = self
        call.caller = caller
        return call
    }
}

extension Service {
    /// - Throws: ``Problem`` with `insufficient_user_authentication` when the user authenticated too long ago.
    func requireFresh(_ session: AuthenticatedSession, _ call: Call) throws(Problem) {
        guard session.isFresh(within: configuration.freshness, at: call.now) else {
            var problem = Problem(.insufficientUserAuthentication)
            problem.stepUp = Problem.StepUp(acrValues: nil, maxAge: configuration.freshness)
            throw problem
        }
    }
}

extension Service {
    /// Requires that an authentication of a class does not lower a session's.
    ///
    /// - Throws: ``Problem`` with `insufficient_user_authentication`, which lists the classes that suffice.
    func requireNoStronger(_ session: AuthenticatedSession, than acr: String) throws(Problem) {
        guard !AuthenticationContext.isAtLeast(acr, session.session.acr) else { return }
        var problem = Problem(.insufficientUserAuthentication, "the session is of a stronger class")
        problem.stepUp = Problem.StepUp(
            acrValues: AuthenticationContext.atLeast(session.session.acr).joined(separator: " "),
            maxAge: configuration.freshness
        )
        throw problem
    }
}

extension Timestamp {
    /// The wall-clock time.
    static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}
