import CBOR
public import KeychainModel
public import SecretMemory

/// One item of a result; each part is there only if it was asked for.
@frozen
public struct ItemResult: ~Copyable, Sendable {
    /// Its name for good.
    public let reference: PersistentReference?
    /// Its attributes, the access control among them.
    public let attributes: ItemAttributes?
    /// Its secret, to be taken out: `item.data.take()`.
    public var data: SecretBytes?
}

/// The items that a request brought.
///
/// Secrets stay in the pages they arrived in, locked and wiped, and are taken out one by one.
public struct ItemResults: ~Copyable, Sendable {
    private let replies: ItemReplies

    /// The number of items.
    public var count: Int { replies.count }

    init(_ replies: ItemReplies) { self.replies = replies }

    /// Lends one item after the other; what `body` takes out of it is its own copy.
    public borrowing func forEach<E: Error>(
        _ body: (inout ItemResult) throws(E) -> Void
    ) throws(E) {
        for item in replies.plain {
            var item = ItemResult(reference: item.reference, attributes: item.attributes, data: nil)
            try body(&item)
        }
        for page in replies.pages { try page.forEach(body) }
    }

    /// The first item, if there is one.
    public borrowing func first() -> ItemResult? {
        var found: ItemResult?
        do {
            try forEach { (item: inout ItemResult) throws(Enough) in
                found = ItemResult(
                    reference: item.reference,
                    attributes: item.attributes,
                    data: item.data.take()
                )
                throw Enough()
            }
        } catch {}
        return found
    }

    private struct Enough: Error {}
}

/// Collects the pages of a result.
///
/// A result without secrets is decoded as it arrives and kept in ordinary memory, because locked memory is scarce
/// and a list may be long.
final class ItemReplies: ReplySink, @unchecked Sendable {  // the connection's monitor orders all access
    /// The most locked memory that one result may take, in octets; ordinary users have 8 MiB.
    static let mostLocked = 4 << 20

    // Written by the reading thread, read by the waiting one afterwards.
    private(set) var count = 0
    private(set) var plain: [(reference: PersistentReference?, attributes: ItemAttributes?)] = []
    private(set) var pages: [ItemPage] = []
    private var locked = 0
    private let holdsSecrets: Bool

    init(returns: ItemQuery.Returns) { holdsSecrets = returns.contains(.data) }

    func accept(_ message: consuming ReceivedMessage) throws {
        guard holdsSecrets else {
            try message.readItems { reader in
                let item = try reader.readItem { _ in throw WireError.malformed }
                plain.append((item.reference, item.attributes))
            }
            count = plain.count
            return
        }
        locked += message.count
        guard locked <= Self.mostLocked else {
            let cause = DriverCause(domain: "touchstone", code: "resultTooLarge")
            throw KeychainError(.allocate, cause: cause)
        }
        let page = try ItemPage(message)
        count += page.count
        pages.append(page)
    }
}

/// One page of a result, found to be whole when it arrived.
final class ItemPage: Sendable {
    let count: Int
    private let message: ReceivedMessage

    init(_ message: consuming ReceivedMessage) throws {
        var count = 0
        try message.readItems { reader in
            _ = try reader.readItem { _ in }
            count += 1
        }
        self.count = count
        self.message = message
    }

    func forEach<E: Error>(_ body: (inout ItemResult) throws(E) -> Void) throws(E) {
        var failure: E?
        do {
            try message.readItems { reader in
                var data: SecretBytes?
                let parts = try reader.readItem { data = SecretBytes(copying: $0) }
                var item = ItemResult(
                    reference: parts.reference,
                    attributes: parts.attributes,
                    data: data.take()
                )
                do throws(E) {
                    try body(&item)
                } catch {
                    failure = error
                    throw error
                }
            }
        } catch {
            if let failure { throw failure }
            preconditionFailure("a page was read before and does not change")
        }
    }
}

extension ReceivedMessage {
    /// Reads a reply whose body is an array of items.
    fileprivate borrowing func readItems(_ item: (inout CBORReader) throws -> Void) throws {
        try read { reader in
            _ = try ReplyHead(from: &reader)
            // `addItem` without anything to return.
            if try reader.peekType() == .null { return try reader.readNull() }
            for _ in 0..<(try reader.readArrayHead()) { try item(&reader) }
        }
    }
}

extension CBORReader {
    /// Reads one item's map; its secret is lent to `data`.
    fileprivate mutating func readItem(
        data: (Span<UInt8>) throws -> Void
    ) throws -> (reference: PersistentReference?, attributes: ItemAttributes?) {
        var reference: PersistentReference?
        var attributes: ItemAttributes?
        for _ in 0..<(try readMapHead()) {
            switch try readUnsigned() {
            case ItemField.reference:
                reference = PersistentReference(octets: try readBytes())
                guard reference != nil else { throw WireError.malformed }
            case ItemField.attributes: attributes = try readAttributes()
            case ItemField.data: try readBytes { (octets: Span<UInt8>) throws -> Void in try data(octets) }
            default: try skipValue()
            }
        }
        return (reference, attributes)
    }
}
