import CBOR
import KeychainModel

/// Receives the replies to one request, on whichever thread reads the socket.
///
/// The connection delivers one reply after another and wakes the waiting thread after the last one.
protocol ReplySink: AnyObject, Sendable {
    /// Receives the body of a successful reply, which is the rest of the message from `start` on.
    ///
    /// - Throws: ``KeychainError`` to give up the request, any other error for a malformed body.
    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws
}

/// Receives one reply with a body of a known type.
final class SingleReply<Body: WireBody & Sendable & ~Copyable>:
    ReplySink, @unchecked Sendable  // One thread writes, another reads after the connection's monitor.
{
    private var body: Body?

    /// The body, for the first call; nil afterwards.
    func take() -> Body? { body.take() }

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        guard body == nil else { throw WireError.malformed }
        body = try message.readBody(from: start) { try Body(from: &$0) }
    }
}

/// Receives replies whose bodies are ignored, but must be well-formed.
final class Acknowledgement: ReplySink {
    static let shared = Acknowledgement()

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        try message.readBody(from: start) { try $0.skipValue() }
    }
}

extension ReceivedMessage {
    /// The error in an unsuccessful reply.
    borrowing func failure() throws -> KeychainError {
        try read { reader in
            let head = try ReplyHead(from: &reader)
            return try Failure(from: &reader, status: head.status).error
        }
    }
}
