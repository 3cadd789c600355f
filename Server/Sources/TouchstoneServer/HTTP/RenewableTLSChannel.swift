internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// The TLS files in force: replaced when they are read again.
final class CurrentTLSFiles: Sendable {
    private let current: Mutex<TLSFiles>

    init(_ files: TLSFiles) { current = Mutex(files) }

    var value: TLSFiles { current.withLock { $0 } }

    /// Replaces them, for connections that begin afterwards.
    func replace(with files: TLSFiles) { current.withLock { $0 = files } }
}

/// A channel with the certificate that is in force when its connection begins.
struct RenewableTLSChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    private let base: Base
    private let files: CurrentTLSFiles

    init(_ base: Base, _ files: CurrentTLSFiles) {
        self.base = base
        self.files = files
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: files.value.context))
        }.flatMap { base.setup(channel: channel, logger: logger) }
    }

    @concurrent
    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
