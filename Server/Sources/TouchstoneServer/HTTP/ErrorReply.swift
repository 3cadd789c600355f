internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty

/// Converts errors to responses.
enum ErrorReply {
    static func response(
        for error: any Error,
        _ request: Request,
        _ traceID: String,
        asOAuth: Bool
    ) -> Response {
        if let allowed = (error as? MethodNotAllowed)?.allowed {
            var response = self.response(for: Problem(.methodNotAllowed), request, traceID, asOAuth: asOAuth)
            response.headers[.allow] = allowed
            return response
        }
        if let error = error as? OAuthProblem { return oauth(error, retryAfter: nil) }
        let problem = problem(of: error)
        if asOAuth {
            return oauth(OAuthProblem(problem), retryAfter: problem.retryAfter, status: problem.code.status)
        }
        var reply = Reply(
            status: .init(code: problem.status),
            body: .json(
                problem.body(instance: request.uri.path, traceID: traceID),
                type: "application/problem+json"
            )
        )
        reply.fields[.retryAfter] = problem.retryAfter.map { "\($0)" }
        reply.fields[.wwwAuthenticate] = problem.challenge
        return made(reply)
    }

    /// The part of an error that a client may see.
    static func problem(of error: any Error) -> Problem {
        switch error {
        case let problem as Problem: problem
        case let error as DerivationPool.Overloaded:
            .overloaded("passwords queue up", retryAfter: Int(error.retryAfter.components.seconds))
        case let error as StoreError: Problem(error)
        default: Problem(.internalError)
        }
    }

    private static func oauth(_ problem: OAuthProblem, retryAfter: Int?, status: Int? = nil) -> Response {
        let status: HTTPResponse.Status =
            switch problem.code {
            case .invalidClient: .unauthorized
            case .temporarilyUnavailable: .serviceUnavailable
            case .serverError: .internalServerError
            default: [405, 413, 415].contains(status) ? .init(code: status ?? 400) : .badRequest
            }
        var reply = Reply.json(problem.body, status: status)
        if status == .unauthorized {
            // Of the scheme that the client used too (RFC 6749, section 5.2).
            reply.fields[.wwwAuthenticate] = #"Basic realm="touchstone", Bearer"#
        }
        reply.fields[.retryAfter] = retryAfter.map { "\($0)" }
        return made(reply)
    }

    private static func made(_ reply: Reply) -> Response {
        (try? reply.response()) ?? Response(status: .internalServerError)
    }
}
