import KeychainClient
import KeychainModel
import SecretMemory
import SecretServiceModel

/// The items and collections of the service in the keychain, for one client.
///
/// No call shows a prompt: while the keychain has not been unlocked since its start, each throws ``BusFault/isLocked``.
struct SecretStore: Sendable {
    /// A collection that was made or renamed.
    struct Collection: Sendable, Equatable {
        let name: String
        let label: String
        /// Seconds since 1970.
        let created: UInt64
        let modified: UInt64
        fileprivate let creation: Int64
    }

    private static let collectionsService = SecretRecords.collections
    private static let aliasesService = SecretRecords.aliases
    /// The most collections, and the most aliases.
    static let mostCollections = 256
    /// How many secrets are read at a time.
    private static let secretsAtOnce = 512

    let keychain: RemoteKeychain

    private static let silent = PromptFields(interactionAllowed: false)

    // MARK: Items

    /// The items that have at least these attributes, the newest first.
    func items(in collection: String? = nil, having pairs: [String: String] = [:]) throws(BusFault)
        -> [SecretItem]
    {
        var attributes = SecretItem.stored(pairs)
        if let collection { attributes[.service] = .string(collection) }
        return try items(attributes).filter { !SecretRecords.isRecord($0.collection) }
            .sorted { $0.precedes($1) }
    }

    /// The item of a path; nil if there is none.
    func item(_ name: String, in collection: String) throws(BusFault) -> SecretItem? {
        try items([.service: .string(collection), .account: .string(name)]).first
    }

    /// Whether nothing can be read because the keychain has not been unlocked since its start.
    func isCold() throws(BusFault) -> Bool {
        do throws(BusFault) {
            try read([:], limit: .one) { _, _ in }
            return false
        } catch {
            guard error == .isLocked else { throw error }
            return true
        }
    }

    private func items(_ attributes: ItemAttributes) throws(BusFault) -> [SecretItem] {
        var items: [SecretItem] = []
        try read(attributes) { attributes, reference in
            if let item = SecretItem(attributes, reference) { items.append(item) }
        }
        return items
    }

    /// Calls `body` with each item of the group that has these attributes.
    private func read(
        _ attributes: ItemAttributes,
        limit: ItemQuery.Limit = .all,
        _ body: (ItemAttributes, PersistentReference) -> Void
    ) throws(BusFault) {
        var query = ItemQuery(
            itemClass: .genericPassword,
            attributes: attributes,
            limit: limit,
            returns: [.attributes, .persistentRef]
        )
        query.attributes[.accessGroup] = .string(AccessGroup.secretService.name)
        do throws(KeychainError) {
            let results = try keychain.copy(CopyItems(query: query, prompt: Self.silent))
            results.forEach { result in
                if let attributes = result.attributes, let reference = result.reference {
                    body(attributes, reference)
                }
            }
        } catch {
            guard error.status != .itemNotFound else { return }
            throw BusFault(error)
        }
    }

    // MARK: Secrets

    /// Calls `body` with the secret of each item that needs nobody; leaves the others out.
    func secrets(
        of items: [SecretItem],
        context: UInt64? = nil,
        _ body: (SecretItem, Span<UInt8>) throws(BusFault) -> Void
    ) throws(BusFault) {
        var start = 0
        while start < items.count {
            let part = items[start..<min(start + Self.secretsAtOnce, items.count)]
            start += part.count
            let byReference = Dictionary(part.map { ($0.reference, $0) }) { first, _ in first }
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.accessGroup: .string(AccessGroup.secretService.name)],
                limit: .all,
                returns: [.data, .persistentRef],
                references: part.map(\.reference),
                authenticationUI: .skip
            )
            let results: ItemResults
            do throws(KeychainError) {
                results = try keychain.copy(CopyItems(query: query, context: context, prompt: Self.silent))
            } catch {
                guard error.status == .itemNotFound else { throw BusFault(error) }
                continue
            }
            try results.forEach { result throws(BusFault) in
                guard let reference = result.reference, let item = byReference[reference] else { return }
                try result.withData { data throws(BusFault) in try body(item, data) }
            }
        }
    }

    // MARK: Rules

    /// What items with certain attributes require.
    private func rules() throws(BusFault) -> [ProtectionRule] {
        var rules: [ProtectionRule] = []
        try read([.service: .string(SecretRecords.rules)]) { attributes, reference in
            if let rule = ProtectionRule(attributes, reference) { rules.append(rule) }
        }
        return rules
    }

    // MARK: Changes

    /// Stores a new item, under the rule that is for it.
    func add(
        _ content: SecretItemContent,
        _ secret: consuming SecretBytes,
        in collection: String
    ) throws(BusFault) -> String {
        let name = Hexadecimal.text(RandomBytes.array(count: 16))
        let rule =
            ProtectionRule.isProgramKey(content.attributes)
            ? nil : ProtectionRule.applying(to: content.attributes, of: try rules())
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: SecretItem.attributes(of: name, in: collection, content),
            accessControl: rule?.accessControl ?? AccessControl(accessibility: .afterFirstUnlock),
            data: secret,
            prompt: Self.silent
        )
        do throws(KeychainError) {
            _ = try keychain.add(item)
        } catch {
            throw BusFault(error)
        }
        return name
    }

    /// Stores other content in place of an item's, with its rule, without reading it.
    func replace(
        _ item: SecretItem,
        by content: SecretItemContent,
        _ secret: consuming SecretBytes
    ) throws(BusFault) {
        let replacement = ReplaceItem(
            query: query(for: item),
            itemClass: .genericPassword,
            attributes: SecretItem.attributes(of: item.name, in: item.collection, content),
            accessControl: item.rule ?? AccessControl(accessibility: .afterFirstUnlock),
            data: secret,
            prompt: Self.silent
        )
        do throws(KeychainError) {
            _ = try keychain.replace(replacement)
        } catch {
            throw BusFault(error)
        }
    }

    /// Renames an item.
    func rename(_ item: SecretItem, to label: String) throws(BusFault) {
        let change = UpdateItems(
            query: query(for: item),
            attributes: [.label: .string(label)],
            accessControl: nil,
            data: nil,
            prompt: Self.silent
        )
        do throws(KeychainError) {
            _ = try keychain.update(change)
        } catch {
            throw BusFault(error)
        }
    }

    /// Deletes an item.
    func delete(_ item: SecretItem) throws(BusFault) {
        let deletion = DeleteItems(query: query(for: item), prompt: Self.silent)
        do throws(KeychainError) {
            _ = try keychain.delete(deletion)
        } catch {
            throw BusFault(error)
        }
    }

    private func query(for item: SecretItem) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.accessGroup: .string(AccessGroup.secretService.name)],
            references: [item.reference]
        )
    }

    // MARK: Collections

    /// The collections that were made, and the default one if it was renamed.
    func collections() throws(BusFault) -> [Collection] {
        try items([.service: .string(Self.collectionsService)]).map(Self.collection)
            .sorted { ($0.creation, $0.name) < ($1.creation, $1.name) }
    }

    /// The collection of a name; nil if there is none.
    func collection(_ name: String) throws(BusFault) -> Collection? {
        try items([.service: .string(Self.collectionsService), .account: .string(name)])
            .first.map(Self.collection)
    }

    private static func collection(_ item: SecretItem) -> Collection {
        Collection(
            name: item.name,
            label: item.content.label,
            created: item.created,
            modified: item.modified,
            creation: item.creation
        )
    }

    /// Makes a collection, or renames it.
    func write(collection name: String, label: String) throws(BusFault) {
        if let record = try items([.service: .string(Self.collectionsService), .account: .string(name)]).first
        {
            return try rename(record, to: label)
        }
        guard try collections().count < Self.mostCollections else {
            throw .limit("there are \(Self.mostCollections) collections already")
        }
        try write(record: name, Self.collectionsService, label: label)
    }

    /// Deletes a collection with its items.
    func delete(collection name: String) throws(BusFault) {
        for service in [name, Self.collectionsService] {
            var query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [
                    .accessGroup: .string(AccessGroup.secretService.name), .service: .string(service),
                ],
                limit: .all
            )
            if service == Self.collectionsService { query.attributes[.account] = .string(name) }
            do throws(KeychainError) {
                _ = try keychain.delete(DeleteItems(query: query, prompt: Self.silent))
            } catch {
                guard error.status == .itemNotFound else { throw BusFault(error) }
            }
        }
    }

    // MARK: Aliases

    /// The collection that a name stands for; nil if it is no alias.
    func alias(_ name: String) throws(BusFault) -> String? {
        try items([.service: .string(Self.aliasesService), .account: .string(name)]).first?.content.label
    }

    /// All aliases that were set.
    func aliases() throws(BusFault) -> [String: String] {
        let records = try items([.service: .string(Self.aliasesService)])
        return Dictionary(records.map { ($0.name, $0.content.label) }) { first, _ in first }
    }

    /// Lets a name stand for a collection; nil for none.
    func set(alias name: String, to collection: String?) throws(BusFault) {
        let record = try items([.service: .string(Self.aliasesService), .account: .string(name)]).first
        switch (record, collection) {
        case (let record?, let collection?): try rename(record, to: collection)
        case (let record?, nil): try delete(record)
        case (nil, let collection?):
            guard try aliases().count < Self.mostCollections else {
                throw .limit("there are \(Self.mostCollections) aliases already")
            }
            try write(record: name, Self.aliasesService, label: collection)
        case (nil, nil): break
        }
    }

    private func write(record name: String, _ service: String, label: String) throws(BusFault) {
        var content = SecretItemContent()
        content.label = label
        var attributes = SecretItem.attributes(of: name, in: service, content)
        attributes[.isInvisible] = .boolean(true)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: attributes,
            accessControl: AccessControl(accessibility: .afterFirstUnlock),
            data: nil,
            prompt: Self.silent
        )
        do throws(KeychainError) {
            _ = try keychain.add(item)
        } catch {
            throw BusFault(error)
        }
    }
}
