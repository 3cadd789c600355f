internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Closes a connection whose next request does not arrive completely in time, head and body: an idle limit alone can be
/// reset by a byte now and then.
///
/// The time does not run while a request is being handled.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let time: TimeAmount
    /// When the connection is closed; nil: a request is being handled.
    private var deadline: NIODeadline?
    /// Checks ``deadline`` periodically: a timer for each request would cost more than the rest of this.
    private var timer: Scheduled<Void>?
    /// The number of complete requests without a response; -1: a response was sent before its request was complete.
    private var pending = 0

    init(_ time: TimeAmount) { self.time = time }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: deadline = .now() + time
        case .body: break
        case .end:
            pending += 1
            deadline = pending > 0 ? nil : .now() + time
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            pending -= 1
            if pending <= 0 { deadline = .now() + time }
        }
        context.write(data, promise: promise)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard timer == nil else { return }
        deadline = .now() + time
        look(context.channel, after: time)
    }

    private func look(_ channel: any Channel, after wait: TimeAmount) {
        timer = channel.eventLoop.assumeIsolated().scheduleTask(in: wait) { [self] in
            let now = NIODeadline.now()
            // While a request is handled, the next check is due when the next deadline could be at the earliest.
            let left = deadline.map { $0 - now } ?? time
            if left > .zero { look(channel, after: left) } else { channel.close(promise: nil) }
        }
    }
}
