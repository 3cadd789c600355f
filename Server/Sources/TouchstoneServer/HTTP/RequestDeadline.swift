internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Closes a connection whose next request is not there in time, head and body, however slowly it comes: an idle limit alone is
/// kept alive by a byte now and then.
///
/// Time does not run while a request is worked on.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let time: TimeAmount
    /// When the connection ends; nil: a request is worked on.
    private var deadline: NIODeadline?
    /// Looks at ``deadline`` now and then: a timer for each request would cost more than the rest of this.
    private var timer: Scheduled<Void>?
    /// Requests that came whole and are not answered yet; -1: one was answered before it came whole.
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
            // While a request is worked on the next look is as far away as its end could be.
            let left = deadline.map { $0 - now } ?? time
            if left > .zero { look(channel, after: left) } else { channel.close(promise: nil) }
        }
    }
}
