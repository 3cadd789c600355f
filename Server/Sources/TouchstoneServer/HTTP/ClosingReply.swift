internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Ends the connection after a response with `Connection: close` (RFC 9112, section 9.6).
///
/// What the client sends after it is read and dropped, never handled: it may be the rest of a body or a new request, and
/// nobody can tell which. Only the sending side is closed, since bytes that arrive at a closed socket would destroy the
/// response on its way; the client closes the rest, or ``RequestDeadline`` does.
final class ClosingReply: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var isLast = false
    private var isEnded = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isEnded { context.fireChannelRead(data) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            isLast = head.headerFields[.connection] == "close"
            context.write(data, promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            guard isLast else { return context.write(data, promise: promise) }
            isEnded = true
            context.writeAndFlush(data, promise: promise)
            context.close(mode: .output, promise: nil)
        }
    }
}
