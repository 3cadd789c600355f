internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// What pages of other origins may do (Fetch, section 3.2): those that the configuration lists call the API, others nothing.
struct CrossOrigin: Sendable {
    let origins: Set<String>

    /// The answer to a browser that asks before it sends a request; nil: it is none, or nobody's that is listed.
    func preflight(_ request: Request) -> Response? {
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
            listed(request) != nil
        else { return nil }
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: "GET, POST, PUT, PATCH, DELETE",
                .accessControlAllowHeaders: "Authorization, Content-Type, DPoP",
                .accessControlMaxAge: "600",
            ]
        )
    }

    /// Lets a page that is listed read the answer; the session's cookies may come along.
    func addFields(to response: inout Response, for request: Request) {
        guard !origins.isEmpty else { return }
        response.headers.append(HTTPField(name: .vary, value: "Origin"))
        guard let origin = listed(request) else { return }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] =
            "DPoP-Nonce, Location, Retry-After, WWW-Authenticate, X-Request-Id"
    }

    private func listed(_ request: Request) -> String? {
        guard let origin = request.headers[.origin], origins.contains(origin) else { return nil }
        return origin
    }
}
