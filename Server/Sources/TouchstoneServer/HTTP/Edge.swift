internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging

/// The outermost middleware of every request: trace id, errors, security headers, metrics.
struct Edge: RouterMiddleware {
    typealias Context = ServerContext

    let current: CurrentService
    /// The operations of this port, to distinguish an unknown path from an unknown method.
    let operations: [Operation]
    let isSecure: Bool
    /// Whether pages of other origins may call this port, if the settings list them.
    let isForPages: Bool

    @concurrent
    func handle(
        _ request: Request,
        context: ServerContext,
        next: @concurrent (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let service = current.value
        let crossOrigin = isForPages ? service.crossOrigin : CrossOrigin(origins: [])
        let traceID = TraceIdentifier.of(traceParent: request.headers[.traceParent])
        var request = request
        var expectation: Expectation?
        var response: Response
        do {
            try HostField.check(request)
            expectation = try Expectation(of: request, context.channel)
            if let expectation { request.body = expectation.body(request.body) }
            if let preflight = crossOrigin.preflight(request) {
                response = preflight
            } else {
                let request = request
                response = try await CurrentTrace.$id.withValue(traceID) { try await next(request, context) }
            }
        } catch let error as any HTTPResponseError where error.status == .notFound {
            response = ErrorReply.response(for: unknown(request), request, traceID, asOAuth: false)
        } catch let problem as Problem {
            // Thrown above: no operation has seen the request, and what follows it may belong to another one.
            response = ErrorReply.response(for: problem, request, traceID, asOAuth: false)
            response.headers[.connection] = "close"
        } catch {
            // Operations convert their own errors; errors that arrive here are the framework's.
            service.logger.error("\(error)", metadata: ["trace": "\(traceID)"])
            response = ErrorReply.response(for: Problem(.internalError), request, traceID, asOAuth: false)
        }
        addFields(to: &response, traceID)
        crossOrigin.addFields(to: &response, for: request)
        if expectation?.isRefused == true { response.headers[.connection] = "close" }
        // The fields are those of GET, the length included (RFC 9110, section 9.3.2).
        if request.method == .head { response = response.createHeadResponse() }
        let duration = ContinuousClock.now - start
        service.metrics.request(
            route: context.endpointPath ?? "unknown",
            method: request.method.rawValue,
            status: response.status.code,
            duration: duration
        )
        if service.configuration.accessLog {
            AccessLog.log(
                request,
                response,
                route: context.endpointPath,
                address: ClientAddress.of(context, request, service.configuration),
                traceID: traceID,
                duration: duration,
                to: service.logger
            )
        }
        return response
    }

    /// The error for an unmatched request; a path that exists with other methods lists those (RFC 9110, section
    /// 15.5.6).
    private func unknown(_ request: Request) -> any Error {
        let path = request.uri.path.split(separator: "/", omittingEmptySubsequences: true)
        let methods = operations.filter { operation in
            let parts = operation.path.split(separator: "/")
            return parts.count == path.count
                && zip(parts, path).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        guard !methods.isEmpty else { return Problem(.notFound) }
        var allowed = Set(methods.map(\.method.rawValue))
        if allowed.contains("GET") { allowed.insert("HEAD") }
        return MethodNotAllowed(allowed: allowed.sorted().joined(separator: ", "))
    }

    private func addFields(to response: inout Response, _ traceID: String) {
        response.headers[.requestID] = traceID
        // Handlers may set their own value.
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        for (name, value) in Self.fields where response.headers[name] == nil {
            response.headers[name] = value
        }
        if isSecure { response.headers[.strictTransportSecurity] = "max-age=63072000" }
    }

    private static let fields: [(HTTPField.Name, String)] = [
        (.contentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'"),
        (.xContentTypeOptions, "nosniff"),
        (.known("Referrer-Policy"), "no-referrer"),
        (.known("X-Frame-Options"), "DENY"),
        (.known("Cross-Origin-Resource-Policy"), "same-origin"),
    ]
}

/// The trace id of the request that a task handles.
enum CurrentTrace {
    @TaskLocal static var id = ""
}

/// A path that exists with other methods.
struct MethodNotAllowed: Error {
    let allowed: String
}
