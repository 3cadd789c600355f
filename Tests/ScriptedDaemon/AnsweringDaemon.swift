package import CBOR
import Foundation
package import KeychainModel
package import SecretMemory
import Synchronization

/// A daemon that greets, answers requests one after the other, and records them.
extension ScriptedDaemon {
    /// A scripted answer to a request.
    package enum Answer {
        /// A success with a body.
        case reply(@Sendable (ReplyHead) -> SecretBuffer)
        /// A failure.
        case failure(KeychainError)
        /// No reply until the client cancels the request; then `appCancel`.
        case hold

        /// A success with this body.
        package static func body(_ body: some WireBody & Sendable) -> Answer { .reply { $0.message(body) } }

        /// Items on a single page.
        package static func items(_ items: [Item]) -> Answer {
            .reply { head in
                var writer = WireWriter(SecretBuffer(minimumCapacity: 256))
                for item in items { item.encode(to: &writer) }
                let page = EncodedItems(octets: writer.finish(), count: items.count, next: nil)
                return ItemsReply.message(head: head, items: page)
            }
        }
    }

    /// An item in a reply.
    package struct Item: Sendable {
        private let reference: [UInt8]?
        private let attributes: ItemAttributes?
        private let data: [UInt8]?

        /// Creates an item; each part is present only if it was requested.
        package init(reference: [UInt8]? = nil, attributes: ItemAttributes? = nil, data: [UInt8]? = nil) {
            self.reference = reference
            self.attributes = attributes
            self.data = data
        }

        fileprivate func encode(to writer: inout WireWriter) {
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

    /// Answers a request; called on the connection's thread, with the reader at the body.
    package typealias Answering = @Sendable (RequestHead, inout CBORReader) throws -> Answer

    /// Listens in a directory of its own.
    package convenience init(_ answering: @escaping Answering) throws {
        let log = RequestLog()
        try self.init(try TemporaryHome(), log: log) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                log.methods.withLock { $0.append(request.head.method) }
                try Self.answer(request, peer, answering)
            }
        }
    }

    private static func answer(_ request: ScriptedRequest, _ peer: ScriptedPeer, _ answering: Answering)
        throws
    {
        if request.head.method == .cancel {
            let error = KeychainError(AuthenticationError(.appCancel))
            let head = ReplyHead(id: try request.body(CancelRequest.self).id, status: error.status)
            try peer.send(head.message(Failure(error)))
            return try peer.reply(to: request)
        }
        switch try request.read({ try answering(request.head, &$0) }) {
        case .reply(let make): try peer.send(make(ReplyHead(id: request.head.id)))
        case .failure(let error): try peer.refuse(request, error)
        case .hold: break
        }
    }
}

/// The requests received, in order.
final class RequestLog: Sendable {
    let methods = Mutex<[KeychainModel.Method]>([])
}
