import Glibc
import KeychainModel

/// A stream socket that received an input from a sender that has finished.
struct SocketInput: ~Copyable {
    /// The receiving end.
    let receiver: CInt
    private let sender: CInt

    /// Sends `octets`, which must fit into the socket's buffer.
    init(_ octets: [UInt8]) {
        var pair: [CInt] = [-1, -1]
        let made = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
        guard made == 0 else { fatalError("socketpair: errno \(errno)") }
        (receiver, sender) = (pair[0], pair[1])
        let sent = unsafe send(
            sender,
            octets,
            octets.count,
            CInt(MSG_DONTWAIT | MSG_NOSIGNAL)
        )
        guard sent == octets.count else { fatalError("send: \(sent) of \(octets.count), errno \(errno)") }
        shutdown(sender, CInt(SHUT_WR))
    }

    /// A duplicate of the receiving end, for a reader that closes it.
    func takeReceiver() -> CInt { fcntl(receiver, F_DUPFD_CLOEXEC, 0) }

    deinit {
        close(sender)
        close(receiver)
    }
}

extension ReceivedMessage {
    /// Receives `octets` as a message through a socket; nil if they are not one.
    static func arriving(_ octets: Span<UInt8>) -> ReceivedMessage? {
        let count = UInt32(octets.count)
        let header = (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * UInt32($0))) }
        let socket = SocketInput(header + octets.array)
        var receiver = FrameReceiver()
        do {
            while true {
                if let message = try receiver.next() { return message }
                guard try receiver.receive(from: socket.receiver) == .received else { return nil }
            }
        } catch {
            return nil
        }
    }
}
