import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A connection on which a test sends any bytes, at its own pace.
struct RawConnection: Sendable {
    private let channel: any Channel
    private let inbox: Inbox

    /// Connects; with TLS any certificate is accepted.
    init(port: Int, isSecure: Bool = false) async throws {
        let inbox = Inbox()
        self.inbox = inbox
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if isSecure {
                        var tls = TLSConfiguration.makeClientConfiguration()
                        tls.certificateVerification = .none
                        let context = try NIOSSLContext(configuration: tls)
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: context, serverHostname: nil)
                        )
                    }
                    try channel.pipeline.syncOperations.addHandler(inbox)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    /// Sends bytes; delivery is not checked.
    func send(_ text: String) async {
        try? await channel.writeAndFlush(ByteBuffer(string: text))
    }

    var isOpen: Bool { channel.isActive }

    /// What came so far.
    var received: String { inbox.text.withLock { $0 } }

    /// What came, once that contains `text` so many times or the connection is closed; or after a minute.
    func received(until text: String, times: Int = 1) async -> String {
        for _ in 0..<6000 where channel.isActive && received.ranges(of: text).count < times {
            try? await Task.sleep(for: .milliseconds(10))
        }
        return received
    }

    /// Waits until the server closes the connection.
    ///
    /// - Returns: The time until then; nil: not closed within `limit`.
    func closed(within limit: Duration) async -> Duration? {
        let start = ContinuousClock.now
        while channel.isActive {
            if ContinuousClock.now - start > limit { return nil }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return ContinuousClock.now - start
    }

    func close() async { try? await channel.close() }

    /// Collects what comes.
    private final class Inbox: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let text = Mutex("")

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let part = String(buffer: unwrapInboundIn(data))
            text.withLock { $0 += part }
        }
    }
}
