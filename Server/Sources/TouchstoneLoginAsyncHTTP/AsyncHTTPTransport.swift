internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
public import NIOSSL
public import Touchstone
public import TouchstoneLogin

/// The transport of `TouchstoneLogin` over async-http-client, for programs that have swift-nio already.
///
/// ```swift
/// let login = LoginClient(server: address, transport: AsyncHTTPTransport())
/// ```
///
/// Copies share their connections, which end with the last of them.
public struct AsyncHTTPTransport: LoginTransport {
    private let owner: Owner

    /// A transport with connections of its own.
    ///
    /// - Parameter tls: Whom it trusts; the system's certificate authorities unless it says otherwise. Certificates and names are
    ///   verified whatever it says.
    public init(tls: TLSConfiguration = .makeClientConfiguration()) {
        var tls = tls
        tls.certificateVerification = .fullVerification
        owner = Owner(tls)
    }

    /// Sends a request and waits for the whole response.
    ///
    /// - Parameter request: What is sent.
    /// - Returns: what came back.
    /// - Throws: ``TouchstoneError`` as `LoginTransport.send(_:)` says.
    public func send(_ request: LoginRequest) async throws(TouchstoneError) -> LoginResponse {
        guard !Task.isCancelled else { throw TouchstoneError(.taskCancelled) }
        var wanted = HTTPClientRequest(url: request.url.absoluteString)
        wanted.method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.headers { wanted.headers.add(name: name, value: value) }
        if !request.body.isEmpty { wanted.body = .bytes(request.body) }
        do {
            // The caller counts the time, over all of a request.
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

/// A client that ends with its last user.
private final class Owner: Sendable {
    let client: HTTPClient

    init(_ tls: TLSConfiguration) {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            decompression: .disabled
        )
        // A server that is not there is told at once; trying again is the caller's.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit { client.shutdown { _ in } }
}

extension TouchstoneError {
    /// What an error of async-http-client and of what is below it means.
    fileprivate init(transport error: any Error) {
        let code: Code
        switch error {
        case is CancellationError: code = .taskCancelled
        case let error as HTTPClientError where error == .cancelled: code = .taskCancelled
        case is NIOTooManyBytesError:
            self = TouchstoneError(.badReply, part: "AsyncHTTPClient", cause: "too many bytes")
            return
        // The connection ended within a response.
        case HTTPParserError.invalidEOFState: code = .unreachable
        case is HTTPParserError: code = .badReply
        case let error as NIOSSLError where error == .uncleanShutdown: code = .unreachable
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: code = .untrustedServer
        default: code = .unreachable
        }
        self.init(Task.isCancelled ? .taskCancelled : code, part: "AsyncHTTPClient", cause: "\(error)")
    }
}
