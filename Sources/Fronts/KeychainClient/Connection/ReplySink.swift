import CBOR
import KeychainModel

/// Takes the replies to one request, on whichever thread happens to read the socket.
///
/// The connection hands over one reply after the other and tells the waiting thread once the last one is in.
protocol ReplySink: AnyObject, Sendable {
    /// Takes the body of a reply that reports success, which is the rest of the message from `start` on.
    ///
    /// - Throws: ``KeychainError`` to give the request up, anything else for a body that cannot be read.
    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws
}

/// Takes one reply with a body of a known type.
final class SingleReply<Body: WireBody & Sendable & ~Copyable>:
    ReplySink, @unchecked Sendable  // One thread writes, another reads after the connection's monitor.
{
    private var body: Body?

    /// The body, for the first one who asks.
    func take() -> Body? { body.take() }

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        guard body == nil else { throw WireError.malformed }
        body = try message.readBody(from: start) { try Body(from: &$0) }
    }
}

/// Takes replies whose bodies nobody wants; they must be whole all the same.
final class Acknowledgement: ReplySink {
    static let shared = Acknowledgement()

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        try message.readBody(from: start) { try $0.skipValue() }
    }
}

extension ReceivedMessage {
    /// What a reply that reports no success says.
    borrowing func failure() throws -> KeychainError {
        try read { reader in
            let head = try ReplyHead(from: &reader)
            return try Failure(from: &reader, status: head.status).error
        }
    }
}
