package import CBOR
import Foundation
import Glibc
package import KeychainClient
package import KeychainModel
package import SecretMemory
import Synchronization

/// A scripted daemon on a real socket, with one thread per connection.
package final class ScriptedDaemon: Sendable {
    /// Runs on each connection; the peer hangs up when it returns or throws.
    package typealias Script = @Sendable (ScriptedPeer) throws -> Void

    /// A keychain client connected to this daemon.
    package let keychain: RemoteKeychain

    private let home: TemporaryHome
    private let listener: CInt
    private let accepted = Mutex<[ScriptedPeer]>([])

    /// The requests to an answering daemon so far, without the greeting.
    package var requested: [KeychainModel.Method] { log.methods.withLock { $0 } }
    let log: RequestLog

    /// The number of connections so far.
    package var connections: Int { accepted.withLock(\.count) }

    /// Listens on the socket of `home`.
    package convenience init(_ home: TemporaryHome, script: @escaping Script) throws {
        try self.init(home, log: RequestLog(), script: script)
    }

    init(_ home: TemporaryHome, log: RequestLog, script: @escaping Script) throws {
        self.log = log
        self.home = home
        keychain = RemoteKeychain(layout: home.layout, daemon: .none)
        // Clients can connect as soon as the socket has its name.
        let unnamed = home.layout.socket + ".new"
        listener = try Self.bind(unnamed)
        guard listen(listener, 16) == 0, rename(unnamed, home.layout.socket) == 0 else {
            throw POSIXError(.EIO)
        }
        let listener = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                let peer = ScriptedPeer(connection)
                guard let self else { return peer.hangUp() }
                self.accepted.withLock { $0.append(peer) }
                Thread.detachNewThread {
                    try? script(peer)
                    peer.hangUp()
                }
            }
        }
    }

    deinit { stop() }

    /// Closes all connections, and stops listening.
    package func stop() {
        shutdown(listener, CInt(SHUT_RDWR))
        for peer in accepted.withLock({ $0 }) { peer.hangUp() }
    }

    /// A socket bound to a path.
    package static func bind(_ path: String) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard descriptor >= 0, result == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        return descriptor
    }
}

/// A received request.
package struct ScriptedRequest: Sendable {
    /// The request's number and method.
    package let head: RequestHead
    private let message: MessageBox

    fileprivate init(_ message: consuming ReceivedMessage) throws {
        head = try message.read { reader in
            let head = try RequestHead(from: &reader)
            try reader.skipValue()
            return head
        }
        self.message = MessageBox(message)
    }

    /// The secret of a request that adds one.
    package func addedOctets() throws -> [UInt8] {
        try message.message.read { reader in
            _ = try RequestHead(from: &reader)
            let item = try AddItem(from: &reader)
            switch item.data {
            case .some(let secret): return secret.withOctets { octets in octets.indices.map { octets[$0] } }
            case .none: return []
            }
        }
    }

    /// The decoded body.
    package func body<Body: WireBody>(_ type: Body.Type) throws -> Body { try read { try Body(from: &$0) } }

    /// Calls `body` with a reader at the request's body.
    package func read<Result>(_ body: (inout CBORReader) throws -> Result) throws -> Result {
        try message.message.read { reader in
            _ = try RequestHead(from: &reader)
            return try body(&reader)
        }
    }
}

/// An item to send.
package struct ScriptedItem: Sendable {
    /// The item's attributes.
    package let attributes: ItemAttributes
    /// The item's secret, if requested.
    package let data: [UInt8]?

    /// Creates an item.
    package init(attributes: ItemAttributes, data: [UInt8]?) {
        self.attributes = attributes
        self.data = data
    }

    /// Creates an item with an account only.
    package init(account: String, data: [UInt8]?) {
        self.init(attributes: [.account: .string(account)], data: data)
    }
}

private final class MessageBox: Sendable {
    let message: ReceivedMessage
    init(_ message: consuming ReceivedMessage) { self.message = message }
}

/// The daemon's end of one connection; used by one thread.
package final class ScriptedPeer: @unchecked Sendable {  // `receiver` belongs to the script's thread
    /// The nonce of every greeting.
    package static let nonce = [UInt8](repeating: 7, count: Greeting.nonceOctetCount)

    private let descriptor: CInt
    private var receiver = FrameReceiver()

    fileprivate init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Sends the greeting, and receives the hello.
    package func welcome() throws {
        try send(ReplyHead(id: 0).message(Greeting(nonce: Self.nonce, daemonVersion: "scripted")))
        let hello = try next()
        guard hello.head == RequestHead(id: 1, method: .hello), try hello.body(Hello.self).nonce == Self.nonce
        else {
            throw WireError.malformed
        }
        try reply(to: hello)
    }

    /// Receives the next request.
    package func next() throws -> ScriptedRequest {
        while true {
            if let message = try receiver.next() { return try ScriptedRequest(message) }
            guard try receiver.receive(from: descriptor) == .received else { throw WireError.closed }
        }
    }

    /// Replies with success.
    package func reply(to request: ScriptedRequest, _ body: some WireBody = EmptyBody(), more: Bool = false)
        throws
    {
        try send(ReplyHead(id: request.head.id, more: more).message(body))
    }

    /// Replies with an error.
    package func refuse(_ request: ScriptedRequest, _ error: KeychainError) throws {
        try send(ReplyHead(id: request.head.id, status: error.status).message(Failure(error)))
    }

    /// Sends a page of items.
    package func reply(
        to request: ScriptedRequest,
        items: [ScriptedItem],
        more: Bool
    ) throws {
        var writer = WireWriter(SecretBuffer(minimumCapacity: 512))
        for item in items {
            writer.writeMapHead(count: item.data == nil ? 2 : 3)
            writer.write(unsigned: ItemField.reference)
            writer.write(bytes: [UInt8](repeating: 9, count: PersistentReference.octetCount))
            writer.write(unsigned: ItemField.attributes)
            writer.write(item.attributes)
            if let data = item.data {
                writer.write(unsigned: ItemField.data)
                writer.write(bytes: data)
            }
        }
        let page = EncodedItems(octets: writer.finish(), count: items.count, next: nil)
        try send(ItemsReply.message(head: ReplyHead(id: request.head.id, more: more), items: page))
    }

    /// Sends a message.
    package func send(_ message: borrowing SecretBuffer) throws { try Frame.send(message, to: descriptor) }

    /// Sends raw bytes.
    package func send(octets: [UInt8]) {
        _ = unsafe Glibc.send(descriptor, octets, octets.count, CInt(MSG_NOSIGNAL))
    }

    /// Closes the connection.
    package func hangUp() { shutdown(descriptor, CInt(SHUT_RDWR)) }
}
