import CBOR
import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Synchronization

/// A peer on a real socket that speaks the daemon's protocol and answers as a script says.
final class ScriptedDaemon: Sendable {
    /// What the script says to one request.
    enum Answer {
        /// A success with a body.
        case reply(@Sendable (ReplyHead) -> SecretBuffer)
        /// A failure.
        case failure(KeychainError)
        /// Nothing, until the client cancels the request; then `appCancel`.
        case hold

        /// A success with this body.
        static func body(_ body: some WireBody & Sendable) -> Answer { .reply { $0.message(body) } }

        /// Items on one page.
        static func items(_ items: [Item]) -> Answer {
            .reply { head in
                var writer = WireWriter(SecretBuffer(minimumCapacity: 256))
                for item in items { item.encode(to: &writer) }
                let page = EncodedItems(octets: writer.finish(), count: items.count, next: nil)
                return ItemsReply.message(head: head, items: page)
            }
        }
    }

    /// An item of an answer.
    struct Item: Sendable {
        var reference: [UInt8]?
        var attributes: ItemAttributes?
        var data: [UInt8]?

        func encode(to writer: inout WireWriter) {
            writer.writeMapHead(
                count: (reference == nil ? 0 : 1) + (attributes == nil ? 0 : 1) + (data == nil ? 0 : 1)
            )
            if let reference {
                writer.write(unsigned: ItemField.reference)
                writer.write(bytes: reference)
            }
            if let attributes {
                writer.write(unsigned: ItemField.attributes)
                writer.write(attributes)
            }
            if let data {
                writer.write(unsigned: ItemField.data)
                writer.write(bytes: data)
            }
        }
    }

    /// Answers a request; called on the connection's thread with the reader at the body.
    typealias Script = @Sendable (RequestHead, inout CBORReader) throws -> Answer

    /// A keychain that talks to this peer.
    let keychain: RemoteKeychain
    private let directory: String
    private let listener: CInt
    private let log = RequestLog()

    /// The methods asked for so far, without the greeting.
    var requested: [KeychainModel.Method] { log.methods.withLock { $0 } }

    /// Listens in a directory of its own.
    init(_ script: @escaping Script) throws {
        var template = Array("/tmp/touchstone-scripted.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw WireError.system(errno: errno) }
        directory = String(cString: made)
        let layout = Layout(
            runtimeDirectory: directory,
            dataDirectory: directory + "/data",
            configurationFile: directory + "/none"
        )
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: layout.socket.utf8) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, listen(listener, 8) == 0 else { throw WireError.system(errno: errno) }
        keychain = RemoteKeychain(layout: layout, daemon: .none)
        let log = log
        Thread.detachNewThread {
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                Thread.detachNewThread { Self.serve(socket, script, log) }
            }
        }
    }

    deinit {
        shutdown(listener, CInt(SHUT_RDWR))
        close(listener)
        unlink(directory + "/socket")
        rmdir(directory)
    }

    private static func serve(_ socket: CInt, _ script: Script, _ log: RequestLog) {
        defer { close(socket) }
        let nonce = RandomBytes.array(count: Greeting.nonceOctetCount)
        var receiver = FrameReceiver()
        do {
            try Frame.send(
                ReplyHead(id: 0).message(Greeting(nonce: nonce, daemonVersion: "scripted")),
                to: socket
            )
            while true {
                guard let message = try receiver.next() else {
                    if try receiver.receive(from: socket) == .closed { return }
                    continue
                }
                try answer(message, on: socket, script, log)
            }
        } catch {}
    }

    private static func answer(
        _ message: borrowing ReceivedMessage,
        on socket: CInt,
        _ script: Script,
        _ log: RequestLog
    ) throws {
        let cancelled = KeychainError(AuthenticationError(.appCancel))
        try message.read { reader in
            let head = try RequestHead(from: &reader)
            switch head.method {
            case .hello:
                _ = try Hello(from: &reader)
                try Frame.send(ReplyHead(id: head.id).message(EmptyBody()), to: socket)
            case .cancel:
                log.note(.cancel)
                let cancelledID = try CancelRequest(from: &reader).id
                let failed = ReplyHead(id: cancelledID, status: cancelled.status).message(Failure(cancelled))
                try Frame.send(failed, to: socket)
                try Frame.send(ReplyHead(id: head.id).message(EmptyBody()), to: socket)
            default:
                log.note(head.method)
                switch try script(head, &reader) {
                case .reply(let make): try Frame.send(make(ReplyHead(id: head.id)), to: socket)
                case .failure(let error):
                    try Frame.send(
                        ReplyHead(id: head.id, status: error.status).message(Failure(error)),
                        to: socket
                    )
                case .hold: break
                }
            }
        }
    }
}

/// What was asked for, in order.
private final class RequestLog: Sendable {
    let methods = Mutex<[KeychainModel.Method]>([])

    func note(_ method: KeychainModel.Method) { methods.withLock { $0.append(method) } }
}
