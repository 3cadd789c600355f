internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging

/// One message per request, with the setting `access-log`.
///
/// It has nothing that a client could put a secret into: no query, no field, and in the place of the path the route that it
/// matched.
enum AccessLog {
    /// Logs a request and its response.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - response: its response.
    ///   - route: the route, such as `/v1/credentials/{id}`; nil: no route matched.
    ///   - address: the client's address, as limits count it.
    ///   - traceID: the identifier of the request.
    ///   - duration: from the request's fields until the response was made; it is sent afterwards.
    ///   - logger: the server's logger.
    static func log(
        _ request: Request,
        _ response: Response,
        route: String?,
        address: String,
        traceID: String,
        duration: Duration,
        to logger: Logger
    ) {
        let (seconds, attoseconds) = duration.components
        logger.info(
            "request",
            metadata: [
                "method": "\(ServerMetrics.known(request.method.rawValue))",
                "route": "\(route ?? "unknown")",
                "status": .stringConvertible(response.status.code),
                "bytes": .stringConvertible(response.body.contentLength ?? 0),
                "duration-us": .stringConvertible(Int(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)),
                "client": "\(address)",
                "trace": "\(traceID)",
            ]
        )
    }
}
