internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTPTypes
internal import Synchronization

/// The request's field `Expect: 100-continue` (RFC 9110, section 10.1.1): the client waits with the body until the server
/// asks for it, or refuses the request by its header fields.
final class Expectation: Sendable {
    private let channel: any Channel
    private let isMet = Atomic(false)

    /// Reads the expectation; nil: there is none, or no body follows.
    ///
    /// - Throws: ``Problem`` with `expectation_failed` for any other.
    init?(of request: Request, _ channel: any Channel) throws(Problem) {
        guard let text = request.headers[.expect] else { return nil }
        guard text.lowercased() == "100-continue" else {
            throw Problem(.expectationFailed, "the only expectation that is known is 100-continue")
        }
        let length = request.headers[.contentLength]
        guard request.headers.contains(.transferEncoding) || length != nil && length != "0" else {
            return nil
        }
        self.channel = channel
    }

    /// Whether the server refused the request without asking for its body, which may come or not: the connection is of no
    /// use for another request.
    var isRefused: Bool { !isMet.load(ordering: .relaxed) }

    /// Asks for the body, once.
    fileprivate func meet() {
        guard !isMet.exchange(true, ordering: .relaxed) else { return }
        channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)), promise: nil)
    }

    /// The body of a request, which is asked for when it is first read.
    func body(_ body: RequestBody) -> RequestBody {
        RequestBody(asyncSequence: AwaitedBody(body: body, expectation: self))
    }
}

/// A body that the client sends when it is asked.
private struct AwaitedBody: AsyncSequence, Sendable {
    let body: RequestBody
    let expectation: Expectation

    func makeAsyncIterator() -> Iterator {
        Iterator(base: body.makeAsyncIterator(), expectation: expectation)
    }

    struct Iterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator
        let expectation: Expectation

        @concurrent
        mutating func next() async throws -> ByteBuffer? {
            expectation.meet()
            return try await base.next()
        }
    }
}
