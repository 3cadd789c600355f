import KeychainClient
import KeychainModel
import MessageBus
import SecretServiceModel

/// The methods of `org.freedesktop.Secret.Collection`.
extension SecretsClient {
    func answerCollection(_ call: Call, _ collection: String) throws(BusFault) -> [BusValue] {
        switch (call.member, call.arguments.count) {
        case ("Delete", 0): return [.objectPath(try delete(collection: collection))]
        case ("SearchItems", 1):
            guard let pairs = call.arguments[0].textPairs else { break }
            try SecretItemContent.check(pairs)
            return [.paths(try paths(in: collection, having: pairs))]
        case ("CreateItem", 3):
            guard call.arguments[0].signature == "a{sv}", call.arguments[1].signature == "(oayays)",
                let replaces = call.arguments[2].truth
            else { break }
            return try createItem(call.arguments[0], call.arguments[1], replaces, in: collection)
        case ("Delete", _), ("SearchItems", _), ("CreateItem", _): break
        default: throw .unknownMethod(call.member)
        }
        throw .wrongArguments(call)
    }

    /// The paths of the items of a collection, the newest first; one promised item while nothing is known.
    func paths(in collection: String, having pairs: [String: String] = [:]) throws(BusFault) -> [String] {
        if collection == SecretNames.sessionCollection {
            return shared.sessionItems.items(having: pairs).map(\.path)
        }
        let items = try unlessLocked { () throws(BusFault) in try store.items(in: collection, having: pairs) }
        return items?.map(\.path) ?? [promise(pairs, in: collection)]
    }

    private func delete(collection: String) throws(BusFault) -> String {
        guard collection != SecretNames.defaultCollection, collection != SecretNames.sessionCollection else {
            throw .notSupported("the collections login and session cannot be deleted")
        }
        // That it is there is known only once the keychain was unlocked.
        let aliases = try store.aliases().filter { $0.value == collection }.map(\.key)
        try store.delete(collection: collection)
        for alias in aliases { try store.set(alias: alias, to: nil) }
        shared.unlock(collection)
        shared.tell("CollectionDeleted", of: collection)
        tellCollections()
        return "/"
    }

    // MARK: New items

    private func createItem(
        _ properties: BusValue,
        _ secret: BusValue,
        _ replaces: Bool,
        in collection: String
    ) throws(BusFault) -> [BusValue] {
        let (read, arriving) = try read(secret)
        var content = read
        if let label = properties.property(SecretNames.item + ".Label") {
            guard case .string(let text) = label else { throw .invalidArguments("a label is a text") }
            content.label = text
        }
        if let attributes = properties.property(SecretNames.item + ".Attributes") {
            guard let pairs = attributes.textPairs else {
                throw .invalidArguments("attributes are texts by name")
            }
            content.attributes = pairs
        }
        try content.checkLimits()
        // Not a prompt, as the specification allows and GNOME Keyring does not do: libsecret takes one that was dismissed for success.
        if collection != SecretNames.sessionCollection, try store.isCold() || shared.isLocked(collection) {
            throw .isLocked
        }
        return [.objectPath(try put(content, arriving, replaces, in: collection)), .objectPath("/")]
    }

    /// Stores an item, and tells everybody.
    private func put(
        _ content: SecretItemContent,
        _ secret: HeldSecret,
        _ replaces: Bool,
        in collection: String
    ) throws(BusFault) -> String {
        guard secret.count <= ItemLimits.longestData else {
            throw .limit("a secret has at most \(ItemLimits.longestData) bytes")
        }
        if collection == SecretNames.sessionCollection {
            let (item, isNew) = try shared.sessionItems
                .store(content, secret.take(), replaces: replaces)
            tell(isNew ? "ItemCreated" : "ItemChanged", of: item.path, in: collection)
            return item.path
        }
        let equal =
            replaces
            ? try store.items(in: collection, having: content.attributes)
                .first { $0.content.attributes == content.attributes } : nil
        if let equal {
            try store.replace(equal, by: content, secret.take())
            tell("ItemChanged", of: equal.path, in: collection)
            return equal.path
        }
        let name = try store.add(content, secret.take(), in: collection)
        let path = SecretObject.item(collection: collection, name: name).path
        tell("ItemCreated", of: path, in: collection)
        return path
    }

    /// Tells everybody of a change of an item, on each path of its collection.
    func tell(_ member: String, of item: String, in collection: String) {
        shared.tell(member, of: item, in: collection, aliases: aliases(of: collection))
        if member != "ItemChanged" { tellItems(of: collection) }
    }

    /// The longest list of items that is told with each change of it.
    private static let mostListed = 512

    /// Tells everybody which items a collection has: the lists of libsecret, and so those of a window, follow nothing else.
    func tellItems(of collection: String) {
        let path = SecretObject.collection(collection).path
        let isLong =
            collection != SecretNames.sessionCollection
            && ((try? store.count(in: collection)) ?? .max) > Self.mostListed
        if !isLong, let paths = try? paths(in: collection) {
            shared.tell(["Items": .paths(paths)], of: path, SecretNames.collection)
        } else {
            shared.tell([:], untold: ["Items"], of: path, SecretNames.collection)
        }
    }

    /// Tells everybody which collections there are, and returns their names; none if that cannot be known now.
    @discardableResult
    func tellCollections() -> [String] {
        guard let names = try? collectionNames() else { return [] }
        let paths = names.map { SecretObject.collection($0).path }
        shared.tell(["Collections": .paths(paths)], of: SecretNames.root, SecretNames.service)
        return names
    }

    /// Tells everybody what there is, once the keychain was unlocked.
    func tellAll() {
        let names = tellCollections()
        shared.index.waitUntilHeard()
        for name in names {
            shared.tellLock(of: name, isLocked: shared.isLocked(name))
            tellItems(of: name)
        }
    }

    /// The content type and the octets of a client's secret.
    func read(_ secret: BusValue) throws(BusFault) -> (SecretItemContent, HeldSecret) {
        guard case .structure(let members) = secret, members.count == 4,
            case .objectPath(let path) = members[0], let parameters = members[1].octets,
            let value = members[2].octets, case .string(let type) = members[3]
        else {
            throw .invalidArguments("a secret has a session, parameters, a value and a content type")
        }
        var content = SecretItemContent()
        if !type.isEmpty { content.contentType = type }
        return (content, HeldSecret(try session(path).open(parameters: parameters, value: value)))
    }
}
