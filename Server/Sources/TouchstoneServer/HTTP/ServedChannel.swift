internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTPTypesHTTP1

/// A connection that is among ``Connections``, and whose requests pass ``OldVersion``.
struct ServedChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    private let base: Base
    private let connections: Connections

    init(_ base: Base, _ connections: Connections) {
        self.base = base
        self.connections = connections
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        connections.add(channel)
        return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            // Before the codec, behind which a request has no version.
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(OldVersion(), position: .before(codec))
            return value
        }
    }

    @concurrent
    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
