internal import HTTPTypes
public import Hummingbird
internal import Logging

/// A request's context with the access token that let it in.
public protocol AccessTokenContext: RequestContext {
    /// The token; nil before the middleware.
    var accessToken: AccessToken? { get set }
}

/// Lets in requests with an access token that is enough; the others get the status and the challenge that clients act on, a step-up
/// included.
public struct AccessTokenMiddleware<Context: AccessTokenContext>: RouterMiddleware {
    private let verifier: AccessTokenVerifier
    private let demand: AccessTokenDemand

    /// Creates a middleware.
    ///
    /// - Parameters:
    ///   - verifier: one for all operations of the service.
    ///   - demand: what these operations need.
    public init(_ verifier: AccessTokenVerifier, _ demand: AccessTokenDemand = AccessTokenDemand()) {
        self.verifier = verifier
        self.demand = demand
    }

    /// Handles a request.
    @concurrent
    public func handle(
        _ request: Request,
        context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        do throws(AccessTokenError) {
            context.accessToken = try await verifier.verify(
                AccessTokenVerifier.Request(
                    method: request.method.rawValue,
                    path: request.uri.path,
                    authorization: request.headers[.authorization],
                    proofs: HTTPField.Name("DPoP").map { request.headers[values: $0] } ?? []
                ),
                demand
            )
        } catch {
            context.logger.info("access token: \(error)")
            var fields: HTTPFields = [:]
            fields[.wwwAuthenticate] = error.challenge
            throw HTTPError(.init(code: error.status), headers: fields, message: nil)
        }
        return try await next(request, context)
    }
}
