internal import Foundation
internal import SecretMemory
public import Touchstone

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A transport that uses Foundation's URLSession.
///
/// Trusts the certificate authorities of the system. Copies share their connections. On Linux the variables `https_proxy`, `http_proxy`,
/// `all_proxy` and `no_proxy` apply; plain HTTP, which is only for servers on this machine, is never sent through a proxy.
public struct URLSessionTransport: LoginTransport {
    private let session: OwnedSession

    /// Makes a transport with connections of its own.
    public init() { session = OwnedSession() }

    /// Sends a request and waits for the complete response.
    ///
    /// - Parameter request: The request.
    /// - Returns: the response.
    /// - Throws: `TouchstoneError` as ``LoginTransport/send(_:)``, and `untrustedServer` if the environment would send plain HTTP
    ///   through a proxy.
    public func send(_ request: LoginRequest) async throws(TouchstoneError) -> LoginResponse {
        guard !Task.isCancelled else { throw TouchstoneError(.taskCancelled) }
        #if os(Linux)
            try ProxyVariables.check(request.url)
        #endif
        var wanted = URLRequest(url: request.url)
        wanted.httpMethod = request.method
        for (name, value) in request.headers { wanted.setValue(value, forHTTPHeaderField: name) }
        if !request.body.isEmpty { wanted.httpBody = request.body }
        return try await session.send(wanted)
    }
}

extension LoginTransport where Self == URLSessionTransport {
    /// The shared URLSession transport.
    public static var urlSession: URLSessionTransport { shared }
}

private let shared = URLSessionTransport()

/// A URLSession that is invalidated with its last reference.
private final class OwnedSession: Sendable {
    private let exchanges = Exchanges()
    private let session: URLSession

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // The caller enforces the time limit for the whole request.
        configuration.timeoutIntervalForRequest = 3600
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    func send(_ request: URLRequest) async throws(TouchstoneError) -> LoginResponse {
        let task = session.dataTask(with: request)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchanges.begin(task, continuation)
                task.resume()
                // The task was cancelled before it was registered, so its completion found no continuation.
                if Task.isCancelled { exchanges.drop(task) }
            }
        } onCancel: {
            task.cancel()
        }
        guard !Task.isCancelled else { throw TouchstoneError(.taskCancelled) }
        return try result.get()
    }
}

/// The requests in progress, keyed by task identifier.
private final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let continuation: CheckedContinuation<Result<LoginResponse, TouchstoneError>, Never>
        var response: HTTPURLResponse?
        var body = Data()
        var isTooLarge = false
    }

    private let exchanges = Guarded<[Int: Exchange]>([:])

    func begin(
        _ task: URLSessionTask,
        _ continuation: CheckedContinuation<Result<LoginResponse, TouchstoneError>, Never>
    ) {
        exchanges.withLock { $0[task.taskIdentifier] = Exchange(continuation: continuation) }
    }

    /// Resumes the continuation of a cancelled request.
    func drop(_ task: URLSessionTask) {
        let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        exchange?.continuation.resume(returning: .failure(TouchstoneError(.taskCancelled)))
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        exchanges.withLock { $0[dataTask.taskIdentifier]?.response = response as? HTTPURLResponse }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = exchanges.withLock { exchanges in
            guard var exchange = exchanges[dataTask.taskIdentifier] else { return false }
            if exchange.body.count + data.count > LoginResponse.longestBody {
                exchange.isTooLarge = true
            } else {
                exchange.body.append(data)
            }
            exchanges[dataTask.taskIdentifier] = exchange
            return exchange.isTooLarge
        }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = exchanges.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
            return
        }
        let response = exchange.response ?? task.response as? HTTPURLResponse
        let result: Result<LoginResponse, TouchstoneError> =
            if exchange.isTooLarge {
                .failure(.tooLarge)
            } else if let error {
                .failure(TouchstoneError(transport: error))
            } else if let response {
                .success(LoginResponse(response, exchange.body))
            } else {
                .failure(TouchstoneError(.badReply, part: "URLSession", cause: "no response"))
            }
        exchange.continuation.resume(returning: result)
    }
}

extension LoginResponse {
    fileprivate init(_ response: HTTPURLResponse, _ body: Data) {
        let headers = response.allHeaderFields.compactMap { name, value in
            (name as? String).map { ($0, "\(value)") }
        }
        self.init(
            status: response.statusCode,
            headers: Dictionary(headers, uniquingKeysWith: { "\($0), \($1)" }),
            body: body
        )
    }
}

extension TouchstoneError {
    /// The error for an error of URLSession.
    fileprivate init(transport error: any Error) {
        let error = error as NSError
        let code: Code =
            switch error.domain == NSURLErrorDomain ? error.code : 0 {
            case NSURLErrorSecureConnectionFailed, NSURLErrorServerCertificateHasBadDate,
                NSURLErrorServerCertificateUntrusted, NSURLErrorServerCertificateHasUnknownRoot,
                NSURLErrorServerCertificateNotYetValid, NSURLErrorClientCertificateRejected,
                NSURLErrorClientCertificateRequired:
                .untrustedServer
            case NSURLErrorCannotDecodeContentData, NSURLErrorCannotDecodeRawData,
                NSURLErrorCannotParseResponse, NSURLErrorZeroByteResource,
                NSURLErrorUnsupportedURL, NSURLErrorBadURL:
                .badReply
            case NSURLErrorTimedOut: .timedOut
            case NSURLErrorCancelled: .taskCancelled
            case NSURLErrorUnknown where error.isAboutTLS: .untrustedServer
            // On Linux, NSURLErrorBadServerResponse means that the connection was closed without a response.
            default: .unreachable
            }
        self.init(code, part: "URLSession", cause: "\(error.domain) \(error.code)", nextStep: nil)
    }
}

extension NSError {
    /// Whether curl's message is about TLS: on Linux, URLSession has no error codes for that.
    fileprivate var isAboutTLS: Bool {
        let words = localizedDescription
        return ["SSL", "TLS", "certificate"].contains { words.contains($0) }
            && !["SYSCALL", "unexpected eof", "reset by peer"].contains { words.contains($0) }
    }
}
