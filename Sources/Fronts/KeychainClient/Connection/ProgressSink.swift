import CBOR
import KeychainModel

/// Receives progress replies, and then one reply with a body of a known type.
final class ProgressSink<Body: WireBody & Sendable>:
    ReplySink, @unchecked Sendable  // One thread writes, another reads after the connection's monitor.
{
    private let tell: @Sendable (_ done: Int, _ total: Int) -> Void
    private(set) var body: Body?

    init(_ tell: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) { self.tell = tell }

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        guard body == nil else { throw WireError.malformed }
        let more = try message.read { reader in
            let head = try ReplyHead(from: &reader)
            try reader.skipValue()
            return head.more
        }
        if more {
            let progress = try message.readBody(from: start) { try ProgressBody(from: &$0) }
            tell(progress.done, progress.total)
        } else {
            body = try message.readBody(from: start) { try Body(from: &$0) }
        }
    }
}

extension RemoteKeychain {
    /// Sends a request with progress replies and returns its last reply.
    func call<Body: WireBody, Reply: WireBody & Sendable>(
        _ method: Method,
        _ body: Body,
        reply: Reply.Type,
        cancellation: Cancellation? = nil,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws(KeychainError) -> Reply {
        let sink = ProgressSink<Reply>(progress)
        try call(method, body, replies: sink, cancellation: cancellation)
        guard let reply = sink.body else { throw .unintelligible(WireError.malformed) }
        return reply
    }
}
