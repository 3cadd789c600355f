import SecretMemory
import SecretServiceModel

/// The items of the collection `session`, in locked memory until the door ends.
final class SessionItems: Sendable {
    /// An item, without its secret.
    struct Item: Sendable {
        let name: String
        var content: SecretItemContent
        let created: UInt64
        var modified: UInt64
        fileprivate var secret: MessageSecret

        var path: String { SecretObject.item(collection: SecretNames.sessionCollection, name: name).path }
    }

    /// A secret that is shared by the items' table and a reader.
    fileprivate final class MessageSecret: Sendable {
        let octets: SecretBytes
        init(_ octets: consuming SecretBytes) { self.octets = octets }
    }

    /// The most items, and the most bytes of all secrets together.
    static let mostItems = 256
    static let mostOctets = 1 << 20

    private let items = Guarded<[Item]>([])

    /// The items that have at least these attributes, the newest first.
    func items(having pairs: [String: String] = [:]) -> [Item] {
        items.withLock { items in
            items.reversed().filter { item in pairs.allSatisfy { item.content.attributes[$0.key] == $0.value }
            }
        }
    }

    /// The item of a name; nil if there is none.
    func item(_ name: String) -> Item? { items.withLock { $0.first { $0.name == name } } }

    /// Lends the secret of an item.
    func withSecret<R: ~Copyable>(
        of item: Item,
        _ body: (Span<UInt8>) throws(BusFault) -> R
    ) throws(BusFault) -> R {
        try item.secret.octets.withOctets(body)
    }

    /// Stores an item; with `replaces`, in place of one with the same attributes.
    ///
    /// - Returns: the item, and whether it is a new one.
    func store(
        _ content: SecretItemContent,
        _ secret: consuming SecretBytes,
        replaces: Bool,
        at time: UInt64
    ) throws(BusFault) -> (item: Item, isNew: Bool) {
        let secret = MessageSecret(secret)
        return try items.withLock { items throws(BusFault) in
            let octets = items.reduce(secret.octets.count) { $0 + $1.secret.octets.count }
            guard octets <= Self.mostOctets else {
                throw .limit("the collection in memory has at most \(Self.mostOctets) bytes")
            }
            if replaces, let index = items.firstIndex(where: { $0.content.attributes == content.attributes })
            {
                (items[index].content, items[index].secret, items[index].modified) = (content, secret, time)
                return (items[index], false)
            }
            guard items.count < Self.mostItems else {
                throw .limit("the collection in memory has at most \(Self.mostItems) items")
            }
            let name = Hexadecimal.text(RandomBytes.array(count: 16))
            let item = Item(name: name, content: content, created: time, modified: time, secret: secret)
            items.append(item)
            return (item, true)
        }
    }

    /// Changes an item's label, attributes and content type, and its secret if there is a new one.
    func change(
        _ name: String,
        to content: SecretItemContent,
        _ secret: consuming SecretBytes? = nil,
        at time: UInt64
    ) {
        let secret: MessageSecret? =
            switch consume secret {
            case .some(let octets): MessageSecret(octets)
            case .none: nil
            }
        items.withLock { items in
            guard let index = items.firstIndex(where: { $0.name == name }) else { return }
            (items[index].content, items[index].modified) = (content, time)
            if let secret { items[index].secret = secret }
        }
    }

    /// Deletes an item; false if there is none.
    func delete(_ name: String) -> Bool {
        items.withLock { items in
            guard let index = items.firstIndex(where: { $0.name == name }) else { return false }
            items.remove(at: index)
            return true
        }
    }
}
