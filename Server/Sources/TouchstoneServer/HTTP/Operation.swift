internal import AccountStore
internal import Hummingbird
internal import HummingbirdCore

/// One operation of the API: what the router, the OpenAPI document and the tests all know it by.
struct Operation: Sendable {
    let method: HTTPRequest.Method
    /// Such as `/v1/credentials/{id}`.
    let path: String
    /// Its name in the OpenAPI document.
    let id: String
    let access: Access
    /// Whether errors have the form of RFC 6749 rather than of RFC 9457.
    var hasOAuthErrors = false
    /// Whether a DPoP proof may come with it: then the answer has the current nonce.
    var takesDPoP = false
    let handle: @Sendable (Service, Call) async throws -> Reply

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ id: String,
        _ access: Access,
        hasOAuthErrors: Bool = false,
        takesDPoP: Bool = false,
        handle: @escaping @Sendable (Service, Call) async throws -> Reply
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.access = access
        self.hasOAuthErrors = hasOAuthErrors
        self.takesDPoP = takesDPoP
        self.handle = handle
    }

    /// Who may call an operation.
    enum Access: Sendable, Equatable {
        /// Anybody.
        case open
        /// Anybody; a session counts where one is shown.
        case openOrSession
        /// Whoever shows an access token.
        case session
        /// As ``session``, with an authentication not longer ago than the configuration says.
        case fresh
        /// Whoever shows the service secret.
        case service
        /// Either.
        case serviceOrSession
        /// Whoever shows an administrator's token; on the admin port alone.
        case admin
    }
}

/// A request on its way through the server.
struct Call: Sendable {
    let request: Request
    let parameters: Parameters
    /// 32 hexadecimal digits; in the log, in the answer and in the audit record.
    let traceID: String
    /// The client's address: a proxy's word for it counts only where the proxy is trusted.
    let address: String
    /// When it came.
    let now: Timestamp
    /// Who calls, where the operation wants to know.
    var caller: Caller = .anybody

    /// Who calls.
    enum Caller: Sendable {
        case anybody
        case session(AuthenticatedSession)
        case service
        case admin(String)
    }

    /// The session that calls.
    ///
    /// - Throws: ``Problem`` with `invalid_token` without one.
    var session: AuthenticatedSession {
        get throws(Problem) {
            guard case .session(let session) = caller else { throw Problem(.invalidToken) }
            return session
        }
    }

    /// A part of the path, as bytes.
    ///
    /// - Throws: ``Problem`` with `not_found`: nothing has a malformed identifier.
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
