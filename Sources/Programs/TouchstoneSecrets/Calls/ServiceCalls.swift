import KeychainClient
import KeychainModel
import MessageBus
import SecretServiceModel

/// The methods of `org.freedesktop.Secret.Service`.
extension SecretsClient {
    func answerService(_ call: Call) throws(BusFault) -> [BusValue] {
        let first = call.arguments.first
        let second = call.arguments.dropFirst().first
        switch (call.member, call.arguments.count) {
        case ("OpenSession", 2):
            guard case .string(let algorithm)? = first, case .variant(let input)? = second else { break }
            let (session, output) = try TransferSession.open(algorithm, input)
            return [.variant(output), .objectPath(try add(session))]
        case ("CreateCollection", 2):
            guard let first, first.signature == "a{sv}", case .string(let alias)? = second else { break }
            return try createCollection(first, alias)
        case ("SearchItems", 1):
            guard let pairs = first?.textPairs else { break }
            let (unlocked, locked) = try search(pairs)
            return [.paths(unlocked), .paths(locked)]
        case ("Unlock", 1):
            guard let paths = first?.paths else { break }
            let (unlocked, prompt) = try unlock(paths)
            return [.paths(unlocked), .objectPath(prompt ?? "/")]
        case ("Lock", 1):
            guard let paths = first?.paths else { break }
            return [.paths(lock(paths)), .objectPath("/")]
        case ("GetSecrets", 2):
            guard let paths = first?.paths, case .objectPath(let session)? = second else { break }
            return [try secrets(of: paths, session)]
        case ("ReadAlias", 1):
            guard case .string(let name)? = first else { break }
            let found = try unlessLocked { () throws(BusFault) -> String? in try collection(alias: name) }
            return [.objectPath((found ?? nil).map { SecretObject.collection($0).path } ?? "/")]
        case ("SetAlias", 2):
            guard case .string(let name)? = first, case .objectPath(let path)? = second else { break }
            try setAlias(name, path)
            return []
        case ("OpenSession", _), ("CreateCollection", _), ("SearchItems", _), ("Unlock", _), ("Lock", _),
            ("GetSecrets", _), ("ReadAlias", _), ("SetAlias", _):
            break
        default: throw .unknownMethod(call.member)
        }
        throw .wrongArguments(call)
    }

    // MARK: Collections

    /// The names of all collections; of those that were made none is known while the keychain is locked.
    func collectionNames() throws(BusFault) -> [String] {
        let made = try unlessLocked { () throws(BusFault) in try store.collections().map(\.name) } ?? []
        return [SecretNames.defaultCollection] + made.filter { $0 != SecretNames.defaultCollection }
            + [SecretNames.sessionCollection]
    }

    private func createCollection(_ properties: BusValue, _ alias: String) throws(BusFault) -> [BusValue] {
        guard case .string(let label)? = properties.property(SecretNames.collection + ".Label") ?? .string("")
        else {
            throw .invalidArguments("a label is a text")
        }
        guard label.utf8.count <= 4096, alias.utf8.count <= 256, !label.utf8.contains(0) else {
            throw .limit("a label has at most 4096 bytes, an alias 256")
        }
        let make: @Sendable () throws(BusFault) -> String = { [self] () throws(BusFault) in
            try makeCollection(label, alias)
        }
        if try store.isCold() {
            let prompt = try makePrompt(nothing: .objectPath("/")) { [self] cancellation throws(BusFault) in
                try unlockKeychain(cancellation)
                return .objectPath(try make())
            }
            return [.objectPath("/"), .objectPath(prompt)]
        }
        return [.objectPath(try make()), .objectPath("/")]
    }

    private func makeCollection(_ label: String, _ alias: String) throws(BusFault) -> String {
        // A client that names an alias gets the collection that it stands for.
        if !alias.isEmpty, let present = try collection(alias: alias) {
            return SecretObject.collection(present).path
        }
        let name = CollectionName.free(for: label, beside: try collectionNames())
        try store.write(collection: name, label: label)
        if !alias.isEmpty { try store.set(alias: alias, to: name) }
        shared.tell("CollectionCreated", of: name)
        tellCollections()
        return SecretObject.collection(name).path
    }

    private func setAlias(_ name: String, _ path: String) throws(BusFault) {
        guard !name.isEmpty, name.utf8.count <= 64,
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }),
            name != SecretNames.defaultCollection, name != SecretNames.sessionCollection
        else {
            throw .invalidArguments("an alias has 1 to 64 letters, and is neither login nor session")
        }
        guard path != "/" else { return try store.set(alias: name, to: nil) }
        guard let object = SecretObject(path) else { throw .noSuchObject(path) }
        let collection = try collection(of: object)
        guard collection != SecretNames.sessionCollection else {
            throw .notSupported("the collection in memory has no alias")
        }
        try store.set(alias: name, to: collection)
    }

    // MARK: Searches

    /// The paths of the items that have at least these attributes, unlocked and locked ones, the newest first.
    private func search(_ pairs: [String: String]) throws(BusFault) -> (unlocked: [String], locked: [String])
    {
        try SecretItemContent.check(pairs)
        let inMemory = shared.sessionItems.items(having: pairs).map(\.path)
        guard let items = try unlessLocked({ () throws(BusFault) in try store.items(having: pairs) }) else {
            return (inMemory, [promise(pairs, in: nil)])
        }
        let rules = try ownRules()
        let (unlocked, locked) = items.reduce(into: ([String](), [String]())) { paths, item in
            if isLocked(item, rules) { paths.1.append(item.path) } else { paths.0.append(item.path) }
        }
        return (unlocked + inMemory, locked)
    }

    // MARK: Secrets

    /// The secrets of the items that are unlocked for this client; the others are left out.
    private func secrets(of paths: [String], _ sessionPath: String) throws(BusFault) -> BusValue {
        let session = try session(sessionPath)
        var entries: [BusValue] = []
        func append(_ path: String, _ type: String, _ secret: Span<UInt8>) throws(BusFault) {
            let sealed = try Self.secret(secret, type, session, sessionPath)
            entries.append(.entry(.objectPath(path), sealed))
        }
        var free: [SecretItem] = []
        var names: [PersistentReference: String] = [:]
        // Many are looked up together, also where the index is empty.
        let known =
            paths.count > 64 ? try unlessLocked { () throws(BusFault) in try store.allItems() } : nil
        let found = Self.once(paths).compactMap { path -> (path: String, item: FoundItem)? in
            guard case .item(let collection, let name)? = SecretObject(path) else { return nil }
            let place = ItemTable.Place(collection: collection, name: name)
            let found = known?[place].map(FoundItem.stored) ?? (try? item(name, in: collection))
            return found.map { (path, $0) }
        }
        let stored = found.compactMap { if case .stored(let item) = $0.item { item } else { nil } }
        // What is not released by then is left out.
        try? waitForGesture(stored)
        // Without items of the keychain, which may be locked, none are needed.
        let rules = stored.isEmpty ? OwnRules() : try ownRules()
        for (path, item) in found {
            switch item {
            case .promised: continue
            case .session(let item):
                try shared.sessionItems.withSecret(of: item) { secret throws(BusFault) in
                    try append(path, item.content.contentType, secret)
                }
            case .stored(let item):
                guard !isLocked(item, rules) else { continue }
                guard demand(of: item, rules) != nil else {
                    // Two paths may stand for one item: a promised one, and its own.
                    if names.updateValue(path, forKey: item.reference) == nil { free.append(item) }
                    continue
                }
                try read(granted: item) { secret throws(BusFault) in
                    try append(path, item.content.contentType, secret)
                }
            }
        }
        try store.secrets(of: free) { item, secret throws(BusFault) in
            try append(names[item.reference] ?? item.path, item.content.contentType, secret)
        }
        return .array(of: "{o(oayays)}", entries)
    }

    /// Each path once, in the order of the first ones.
    static func once(_ paths: [String]) -> [String] {
        var seen: Set<String> = []
        return paths.filter { seen.insert($0).inserted }
    }

    /// A secret as the specification has it: session, parameters, value, content type.
    static func secret(
        _ secret: Span<UInt8>,
        _ type: String,
        _ session: TransferSession,
        _ path: String
    ) throws(BusFault) -> BusValue {
        let (parameters, value) = try session.seal(secret)
        return .structure([.objectPath(path), .octets(parameters), .octets(value), .string(type)])
    }
}
