internal import NIOCore
internal import NIOHTTP1

/// Makes requests of HTTP/1.0 what their version means: the handlers behind this one see no version.
///
/// `Host` may be missing in them (RFC 9112, section 3.2); an expectation has no meaning (RFC 9110, section 10.1.1); and the
/// connection ends with the response (RFC 9112, section 9.3; this server keeps none).
final class OldVersion: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), head.version == .http1_0 else {
            return context.fireChannelRead(data)
        }
        if !head.headers.contains(name: "Host") { head.headers.add(name: "Host", value: "") }
        head.headers.remove(name: "Expect")
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}
