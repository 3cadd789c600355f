import Glibc
import MessageBus
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
        fileprivate var secret: BusOctets

        var path: String { SecretObject.item(collection: SecretNames.sessionCollection, name: name).path }
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
        try item.secret.secret.withOctets(body)
    }

    /// Stores an item; with `replaces`, in place of one with the same attributes.
    ///
    /// - Returns: the item, and whether it is a new one.
    func store(
        _ content: SecretItemContent,
        _ secret: consuming SecretBytes,
        replaces: Bool
    ) throws(BusFault) -> (item: Item, isNew: Bool) {
        let (secret, time) = (BusOctets(secret), Self.now)
        return try items.withLock { items throws(BusFault) in
            let octets = items.reduce(secret.secret.count) { $0 + $1.secret.secret.count }
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

    /// Changes what an item has beside its secret, and its secret if there is a new one.
    func change(
        _ name: String,
        _ secret: consuming SecretBytes? = nil,
        _ edit: (inout SecretItemContent) -> Void
    ) {
        let secret: BusOctets? =
            switch consume secret {
            case .some(let octets): BusOctets(octets)
            case .none: nil
            }
        items.withLock { items in
            guard let index = items.firstIndex(where: { $0.name == name }) else { return }
            edit(&items[index].content)
            items[index].modified = Self.now
            if let secret { items[index].secret = secret }
        }
    }

    /// Seconds since 1970.
    private static var now: UInt64 { UInt64(max(0, time(nil))) }

    /// Deletes an item; false if there is none.
    func delete(_ name: String) -> Bool {
        items.withLock { items in
            guard let index = items.firstIndex(where: { $0.name == name }) else { return false }
            items.remove(at: index)
            return true
        }
    }
}
