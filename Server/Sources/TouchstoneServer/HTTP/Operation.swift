internal import AccountStore
internal import Hummingbird
internal import HummingbirdCore

/// One operation of the API, as used by the router, the OpenAPI document and the tests.
struct Operation: Sendable {
    let method: HTTPRequest.Method
    /// The path, such as `/v1/credentials/{id}`.
    let path: String
    /// Its name in the OpenAPI document.
    let id: String
    let access: Access
    /// Whether errors have the form of RFC 6749 rather than of RFC 9457.
    var hasOAuthErrors = false
    /// Whether a request may carry a DPoP proof: then the response has the current nonce.
    let takesDPoP: Bool
    /// The tasks of limited sessions that the operation serves; without any it refuses such sessions.
    let tasks: Set<SessionTask>
    let handle: @Sendable (Service, Call) async throws -> Reply

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ id: String,
        _ access: Access,
        hasOAuthErrors: Bool = false,
        takesDPoP: Bool = false,
        tasks: Set<SessionTask> = [],
        handle: @escaping @Sendable (Service, Call) async throws -> Reply
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.access = access
        self.hasOAuthErrors = hasOAuthErrors
        self.takesDPoP = takesDPoP || access == .fresh
        self.tasks = tasks
        self.handle = handle
    }

    /// The access control of an operation.
    enum Access: Sendable, Equatable {
        /// Every caller.
        case open
        /// Every caller; a session is used if presented.
        case openOrSession
        /// Callers with an access token.
        case session
        /// As ``session``, with an authentication within the configured time, and either a session in cookies or a DPoP proof
        /// of the session's key: for changes of credentials, which an access token alone does not allow. A limited session
        /// lasts so short that it is fresh.
        case fresh
        /// Services, by a secret in the header.
        case service
        /// Services, by a secret in the header or in the form, which the operation itself checks.
        case serviceOrForm
        /// Services, or callers with an access token.
        case serviceOrSession
        /// Callers with an administrator's token of at least this role; on the admin port only.
        case admin(AdminRole)
    }
}

/// A request being handled.
struct Call: Sendable {
    let request: Request
    let parameters: Parameters
    /// The trace id: 32 hexadecimal digits; also in the log, the response and the audit record.
    let traceID: String
    /// The client's address: a forwarded address counts only from a trusted proxy.
    let address: String
    /// What limits count as the client's address.
    var limitSubject: String { IPAddress(address)?.limitSubject ?? address }
    /// When the request arrived.
    let now: Timestamp
    /// Whether there is a mail hook.
    let hasMailHook: Bool
    /// The caller, if the operation needs it.
    var caller: Caller = .anybody

    /// The caller of an operation.
    enum Caller: Sendable {
        case anybody
        case session(AuthenticatedSession)
        /// A service, by its name.
        case service(String)
        /// An administrator, by name.
        case admin(String, AdminRole)
    }

    /// The role of the calling administrator.
    ///
    /// - Throws: ``Problem`` with `invalid_token` if there is none.
    var role: AdminRole {
        get throws(Problem) {
            guard case .admin(_, let role) = caller else { throw Problem(.invalidToken) }
            return role
        }
    }

    /// The calling session.
    ///
    /// - Throws: ``Problem`` with `invalid_token` if there is none.
    var session: AuthenticatedSession {
        get throws(Problem) {
            guard case .session(let session) = caller else { throw Problem(.invalidToken) }
            return session
        }
    }

    /// The name of the calling service; nil: another caller.
    ///
    /// It has no character that JSON escapes.
    var serviceName: String? { if case .service(let name) = caller { name } else { nil } }

    /// A parameter of the path.
    ///
    /// - Throws: ``Problem`` with `not_found`: no object has a malformed identifier.
    func identifier(_ name: String = "id") throws(Problem) -> String {
        guard let text = parameters.get(name), (1...1400).contains(text.utf8.count) else {
            throw Problem(.notFound)
        }
        return text
    }

    /// A value of the query.
    func query(_ name: String) -> String? {
        request.uri.queryParameters[Substring(name)].map(String.init)
    }
}
