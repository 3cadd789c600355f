internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
public import NIOSSL
public import Touchstone
public import TouchstoneLogin

/// The transport of `TouchstoneLogin` over async-http-client, for programs that already use swift-nio.
///
/// ```swift
/// let login = LoginClient(server: address, transport: AsyncHTTPTransport())
/// ```
///
/// Copies share their connections, which close with the last copy.
public struct AsyncHTTPTransport: LoginTransport {
    private let owner: Owner

    /// Creates a transport with its own connections.
    ///
    /// - Parameter tls: The trusted certificate authorities; by default the system's. Certificates and host names are
    ///   always verified.
    public init(tls: TLSConfiguration = .makeClientConfiguration()) {
        var tls = tls
        tls.certificateVerification = .fullVerification
        owner = Owner(tls)
    }

    /// Sends a request and waits for the whole response.
    ///
    /// - Parameter request: The request.
    /// - Returns: the response.
    /// - Throws: ``TouchstoneError`` as documented for `LoginTransport.send(_:)`.
    public func send(_ request: LoginRequest) async throws(TouchstoneError) -> LoginResponse {
        guard !Task.isCancelled else { throw TouchstoneError(.taskCancelled) }
        var wanted = HTTPClientRequest(url: request.url.absoluteString)
        wanted.method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.headers { wanted.headers.add(name: name, value: value) }
        if !request.body.isEmpty { wanted.body = .bytes(request.body) }
        do {
            // The caller enforces the time limit for the whole request.
            let response = try await owner.client.execute(wanted, deadline: .distantFuture)
            let body = try await response.body.collect(upTo: LoginResponse.longestBody)
            return LoginResponse(
                status: Int(response.status.code),
                headers: Dictionary(
                    response.headers.map { ($0.name.lowercased(), $0.value) },
                    uniquingKeysWith: { "\($0), \($1)" }
                ),
                body: Data(body.readableBytesView)
            )
        } catch {
            throw TouchstoneError(transport: error)
        }
    }
}

/// A client that shuts down with its last user.
private final class Owner: Sendable {
    let client: HTTPClient

    init(_ tls: TLSConfiguration) {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            decompression: .disabled
        )
        // An unreachable server is reported at once; retrying is up to the caller.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit { client.shutdown { _ in } }
}

extension TouchstoneError {
    /// The error for an error of async-http-client or a lower layer.
    fileprivate init(transport error: any Error) {
        let code: Code
        switch error {
        case is CancellationError: code = .taskCancelled
        case let error as HTTPClientError where error == .cancelled: code = .taskCancelled
        case is NIOTooManyBytesError:
            self = TouchstoneError(.badReply, part: "AsyncHTTPClient", cause: "too many bytes")
            return
        // The connection ended in the middle of a response.
        case HTTPParserError.invalidEOFState: code = .unreachable
        case is HTTPParserError: code = .badReply
        case let error as NIOSSLError where error == .uncleanShutdown: code = .unreachable
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: code = .untrustedServer
        default: code = .unreachable
        }
        self.init(Task.isCancelled ? .taskCancelled : code, part: "AsyncHTTPClient", cause: "\(error)")
    }
}
