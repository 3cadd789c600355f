import CBOR
package import KeychainModel

/// Changes of which the daemon tells by itself.
extension RemoteKeychain {
    /// Tells what changes, until `cancellation` ends it or the daemon goes; blocks meanwhile.
    ///
    /// Whoever waits here reads for all requests of this connection, so others had better use another one: ``separate()``.
    ///
    /// - Parameters:
    ///   - cancellation: Ends it.
    ///   - tell: Called on this thread, first as soon as changes are heard.
    /// - Throws: ``KeychainError`` where there is no daemon, or none any more; returns when it was cancelled.
    package func watch(
        cancellation: Cancellation,
        _ tell: @escaping @Sendable (ChangesReply) -> Void
    ) throws(KeychainError) {
        do throws(KeychainError) {
            try send(.watch, EmptyBody(), replies: ChangeSink(tell), cancellation: cancellation)
        } catch {
            guard !cancellation.isCancelled else { return }
            throw error
        }
    }
}

/// Takes what changed, one reply after the other; the last one says nothing.
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
