import CBOR
package import KeychainModel

/// Notifications of changes by the daemon.
extension RemoteKeychain {
    /// Reports changes until `cancellation` is cancelled or the daemon exits; blocks meanwhile.
    ///
    /// The waiting thread reads for all requests of this connection, so other requests should use another one:
    /// ``separate()``.
    ///
    /// - Parameters:
    ///   - tellsItems: Whether changes of the items of this program and of its groups are reported too.
    ///   - cancellation: Ends the call.
    ///   - tell: Called on this thread, first as soon as the daemon reports changes.
    /// - Throws: ``KeychainError`` if the daemon is not running or exits; returns normally when cancelled.
    package func watch(
        tellsItems: Bool = false,
        cancellation: Cancellation,
        _ tell: @escaping @Sendable (ChangesReply) -> Void
    ) throws(KeychainError) {
        do throws(KeychainError) {
            try send(
                .watch,
                WatchRequest(tellsItems: tellsItems),
                replies: ChangeSink(tell),
                cancellation: cancellation
            )
        } catch {
            guard !cancellation.isCancelled else { return }
            throw error
        }
    }
}

/// Receives the changes, one reply after another; the last reply is empty.
private final class ChangeSink: ReplySink {
    private let tell: @Sendable (ChangesReply) -> Void

    init(_ tell: @escaping @Sendable (ChangesReply) -> Void) { self.tell = tell }

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        let more = try message.read { reader in
            let head = try ReplyHead(from: &reader)
            try reader.skipValue()
            return head.more
        }
        guard more else { return try Acknowledgement.shared.accept(message, bodyAt: start) }
        tell(try message.readBody(from: start) { try ChangesReply(from: &$0) })
    }
}
