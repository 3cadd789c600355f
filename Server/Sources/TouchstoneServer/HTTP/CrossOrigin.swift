internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Cross-origin requests (Fetch, section 3.2): pages of the configured origins may call the API, others may not.
struct CrossOrigin: Sendable {
    let origins: Set<String>

    /// The response to a preflight request; nil: it is not a preflight request, or the origin is not listed.
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

    /// Lets a page of a listed origin read the response; the session's cookies are allowed.
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
