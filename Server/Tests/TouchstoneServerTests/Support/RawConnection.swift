import Foundation
import NIOCore
import NIOPosix

/// A connection on which a test sends any bytes, at its own pace.
struct RawConnection: Sendable {
    private let channel: any Channel
    private let closed: EventLoopFuture<Void>

    init(port: Int) async throws {
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
        closed = channel.closeFuture
    }

    /// Sends bytes; delivery is not checked.
    func send(_ text: String) async {
        try? await channel.writeAndFlush(ByteBuffer(string: text))
    }

    var isOpen: Bool { channel.isActive }

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
}
