public import Foundation
public import Touchstone

/// Sends one request to a server and returns its response: the only interface to a network library.
///
/// A transport must not follow redirects, must not use cookies or a cache, and must trust the certificate authorities
/// that the system trusts. It reads at most ``LoginResponse/longestBody`` bytes. Cancelling the task must end the request
/// at once; time limits are enforced this way, so a transport needs no timer of its own.
public protocol LoginTransport: Sendable {
    /// Sends a request and waits for the complete response, whatever its status.
    ///
    /// - Parameter request: The request.
    /// - Returns: the response.
    /// - Throws: `TouchstoneError`: `unreachable`, `untrustedServer` for a TLS failure, `badReply` for an invalid or
    ///   too large response, `taskCancelled`.
    func send(_ request: LoginRequest) async throws(TouchstoneError) -> LoginResponse
}

/// A request for a transport to send.
public struct LoginRequest: Sendable {
    /// The HTTP method, such as `POST`.
    public let method: String
    /// The address.
    public let url: URL
    /// The header fields.
    public let headers: [String: String]
    /// The content; empty for none.
    public let body: Data

    /// Makes a request.
    public init(method: String, url: URL, headers: [String: String] = [:], body: Data = Data()) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// A response that a transport received.
public struct LoginResponse: Sendable, Equatable {
    /// The largest content that is read, in bytes.
    public static let longestBody = 1 << 20

    /// The status code.
    public let status: Int
    /// The header fields with lower-case names; several fields of one name are joined by `, `.
    public let headers: [String: String]
    /// The content.
    public let body: Data

    /// Makes a response; converts field names to lower case.
    public init(status: Int, headers: [String: String], body: Data) {
        self.status = status
        self.headers = Dictionary(
            headers.map { ($0.lowercased(), $1) },
            uniquingKeysWith: { "\($0), \($1)" }
        )
        self.body = body
    }
}

extension LoginTransport {
    /// Sends a request and waits for the complete response, with a time limit.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The time limit until the last byte of the response.
    /// - Returns: the response.
    /// - Throws: `TouchstoneError` as ``send(_:)``, and `timedOut`.
    public func send(
        _ request: LoginRequest,
        within limit: Duration
    ) async throws(TouchstoneError) -> LoginResponse {
        let outcome = await withTaskGroup(of: Result<LoginResponse, TouchstoneError>?.self) { group in
            group.addTask {
                do throws(TouchstoneError) {
                    return .success(try await send(request))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        guard !Task.isCancelled else { throw TouchstoneError(.taskCancelled) }
        guard let outcome else {
            throw TouchstoneError(
                .timedOut,
                part: "server",
                nextStep: .retry,
                details: ["no response within \(limit)"]
            )
        }
        return try outcome.get()
    }
}

extension TouchstoneError {
    /// The error for a response whose content exceeds the limit.
    package static var tooLarge: TouchstoneError {
        TouchstoneError(
            .badReply,
            part: "server",
            details: ["content: at most \(LoginResponse.longestBody) bytes"]
        )
    }
}
