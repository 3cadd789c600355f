public import Foundation
public import Touchstone

/// Takes one request to a server and its response back: all that signing in needs of a network library.
///
/// A transport follows no redirection, keeps no cookie and no cache, and trusts whom the system trusts. It reads at most
/// ``LoginResponse/longestBody`` bytes. Cancelling the task ends a request at once, which is how a request is kept to its
/// time: a transport needs no timer of its own.
public protocol LoginTransport: Sendable {
    /// Sends a request and waits for the whole response, of whatever status.
    ///
    /// - Parameter request: What is sent.
    /// - Returns: what came back.
    /// - Throws: `TouchstoneError`: `unreachable`, `untrustedServer` where TLS does not hold, `badReply` for what is no
    ///   response or one too large, `taskCancelled`.
    func send(_ request: LoginRequest) async throws(TouchstoneError) -> LoginResponse
}

/// One request, as a transport sends it.
public struct LoginRequest: Sendable {
    /// Such as `POST`.
    public let method: String
    /// Where it goes.
    public let url: URL
    /// The header's fields.
    public let headers: [String: String]
    /// The content; empty for none.
    public let body: Data

    /// Describes a request.
    public init(method: String, url: URL, headers: [String: String] = [:], body: Data = Data()) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// One response, as a transport received it.
public struct LoginResponse: Sendable, Equatable {
    /// The largest content that is read, in bytes.
    public static let longestBody = 1 << 20

    /// The status code.
    public let status: Int
    /// The header's fields, their names in small letters; several of one name are joined by `, `.
    public let headers: [String: String]
    /// The content.
    public let body: Data

    /// Describes a response; names of fields become small letters.
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
    /// Sends a request and waits for the response for a limited time, over all that it is made of.
    ///
    /// - Parameters:
    ///   - request: What is sent.
    ///   - limit: How long the response may take until its last byte.
    /// - Returns: what came back.
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
    /// A response whose content is larger than anything that belongs here.
    package static var tooLarge: TouchstoneError {
        TouchstoneError(
            .badReply,
            part: "server",
            details: ["content: at most \(LoginResponse.longestBody) bytes"]
        )
    }
}
