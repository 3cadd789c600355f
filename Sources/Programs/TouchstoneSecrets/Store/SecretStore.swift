import KeychainClient
import KeychainModel
import SecretMemory
import SecretServiceModel

/// The items and collections of the service in the keychain, for one client.
///
/// No call shows a prompt: while the keychain has not been unlocked since its start, each throws ``BusFault/isLocked``.
struct SecretStore: Sendable {
    /// How many secrets are read at a time.
    private static let secretsAtOnce = 512

    let keychain: RemoteKeychain
    /// What all clients share.
    let index: ItemIndex

    static let silent = PromptFields(interactionAllowed: false)
    static let group = AttributeValue.string(AccessGroup.secretService.name)

    // MARK: Items

    /// The items that have at least these attributes, the newest first.
    func items(
        in collection: String? = nil,
        having pairs: [String: String] = [:]
    ) throws(BusFault) -> [SecretItem] {
        try content { content in
            content.items.items(in: collection, having: pairs)
                .filter { !SecretRecords.isRecord($0.collection) }
                .sorted { $0.precedes($1) }
        }
    }

    /// At least as many as a collection has items.
    func count(in collection: String) throws(BusFault) -> Int {
        try content { $0.items.count(in: collection) }
    }

    /// The item of a path; nil if there is none.
    func item(_ name: String, in collection: String) throws(BusFault) -> SecretItem? {
        let place = ItemTable.Place(collection: collection, name: name)
        if let known = index.read({ $0.items[place] }) { return known }
        return try stored(place)
    }

    /// The rules for programs that read, and the programs that were let through to each item, by its name; none where no rule asks for them.
    func readingRules() throws(BusFault) -> (rules: [ProtectionRule], readers: [String: ProgramFiles]) {
        try content { content in
            let rules = content.rules.filter { $0.audience != .everyone }
            guard rules.contains(where: \.isForStrangers) else { return (rules, [:]) }
            let records = content.items.items(in: SecretRecords.readers).map { ($0.name, $0.readers) }
            return (rules, Dictionary(records) { first, _ in first })
        }
    }

    /// All items and records.
    func allItems() throws(BusFault) -> ItemTable { try content(\.items) }

    /// Whether nothing can be read because the keychain has not been unlocked since its start.
    func isCold() throws(BusFault) -> Bool {
        // Not from the index: the daemon that filled it may have ended a moment ago.
        let isWarm = try unlessLocked { () throws(BusFault) in try read([:], limit: .one) { _, _ in } } != nil
        if !isWarm { index.empty() }
        return !isWarm
    }

    /// The item of a path, as the daemon has it.
    private func stored(_ place: ItemTable.Place) throws(BusFault) -> SecretItem? {
        var found: SecretItem?
        try read([.service: .string(place.collection), .account: .string(place.name)]) {
            found = SecretItem($0, $1)
        }
        return found
    }

    /// Calls `body` with everything that is stored.
    func content<R>(_ body: (ItemIndex.Content) -> R) throws(BusFault) -> R {
        if let result = index.read(body) { return result }
        let generation = index.beginReading()
        var content = ItemIndex.Content()
        var items: [SecretItem] = []
        var texts: Set<String> = []
        try read([:]) { attributes, reference in
            guard let item = SecretItem(attributes, reference) else { return }
            items.append(item.packed(sharing: &texts))
            if let rule = ProtectionRule(attributes, reference) { content.rules.append(rule) }
        }
        content.items = ItemTable(items)
        if let generation {
            index.keep(content, from: generation)
        } else {
            index.listen()
        }
        return body(content)
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
        query.attributes[.accessGroup] = Self.group
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
                attributes: [.accessGroup: Self.group],
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
                index.empty()
                continue
            }
            // One that was free may need the user by now: the daemon knows.
            if results.count < part.count, context == nil { index.empty() }
            try results.forEach { result throws(BusFault) in
                guard let reference = result.reference, let item = byReference[reference] else { return }
                try result.withData { data throws(BusFault) in try body(item, data) }
            }
        }
    }

    // MARK: Changes

    /// Stores a new item, under the rule that is for it; returns its name.
    func add(
        _ content: SecretItemContent,
        _ secret: consuming SecretBytes,
        in collection: String
    ) throws(BusFault) -> String {
        let rule =
            ProtectionRule.isProgramKey(content.attributes)
            ? nil
            : ProtectionRule.applying(
                to: content.attributes,
                of: try self.content { $0.rules.filter { $0.audience == .everyone } }
            )
        let program = try replying { () throws(KeychainError) in try keychain.representedProgram() }
        let readers = program.map { ProgramFiles().adding($0) } ?? ProgramFiles()
        let place = ItemTable.Place(
            collection: collection,
            name: Hexadecimal.text(RandomBytes.array(count: 16))
        )
        try add(
            SecretItem.attributes(
                of: place.name,
                in: collection,
                content,
                rule?.reading ?? ReadingOptions(),
                readers: readers
            ),
            rule?.accessControl ?? AccessControl(accessibility: .afterFirstUnlock),
            HeldSecret(secret),
            at: place
        )
        return place.name
    }

    /// Stores other content in place of an item's, with its rule, without reading it.
    func replace(
        _ item: SecretItem,
        by content: SecretItemContent,
        _ secret: consuming SecretBytes
    ) throws(BusFault) {
        let held = HeldSecret(secret)
        try change(item) { () throws(BusFault) in
            let replacement = ReplaceItem(
                query: query(for: item),
                itemClass: .genericPassword,
                attributes: SecretItem.attributes(
                    of: item.name,
                    in: item.collection,
                    content,
                    item.reading,
                    readers: item.readers
                ),
                accessControl: item.rule ?? AccessControl(accessibility: .afterFirstUnlock),
                data: try held.take(),
                prompt: Self.silent
            )
            do throws(KeychainError) {
                _ = try keychain.replace(replacement)
            } catch {
                throw BusFault(error)
            }
        }
    }

    /// Renames an item.
    func rename(_ item: SecretItem, to label: String) throws(BusFault) {
        try update(item, [.label: .string(label)])
    }

    /// Gives an item other values of these attributes.
    func update(_ item: SecretItem, _ attributes: ItemAttributes) throws(BusFault) {
        try change(item) { () throws(BusFault) in
            try replying { () throws(KeychainError) in
                _ = try keychain.update(
                    UpdateItems(
                        query: query(for: item),
                        attributes: attributes,
                        accessControl: nil,
                        data: nil,
                        prompt: Self.silent
                    )
                )
            }
        }
    }

    /// Deletes an item.
    func delete(_ item: SecretItem) throws(BusFault) {
        try change(item) { () throws(BusFault) in
            try replying { () throws(KeychainError) in
                _ = try keychain.delete(DeleteItems(query: query(for: item), prompt: Self.silent))
            }
        }
        guard !SecretRecords.isRecord(item.collection),
            let record = try self.item(item.name, in: SecretRecords.readers)
        else { return }
        try delete(record)
    }

    private func query(for item: SecretItem) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.accessGroup: Self.group],
            references: [item.reference]
        )
    }

    /// Stores a new item or record at a place.
    func add(
        _ attributes: ItemAttributes,
        _ accessControl: AccessControl,
        _ secret: HeldSecret?,
        at place: ItemTable.Place
    ) throws(BusFault) {
        _ = try index.change(place) { () throws(BusFault) -> SecretItem? in
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: attributes,
                accessControl: accessControl,
                data: try secret?.take(),
                returns: [.attributes, .persistentRef],
                prompt: Self.silent
            )
            do throws(KeychainError) {
                let added = try keychain.add(item)
                guard let first = added.first(), let stored = first.attributes,
                    let reference = first.reference
                else { return nil }
                return SecretItem(stored, reference)
            } catch {
                throw BusFault(error)
            }
        } refresh: {
            $0
        }
    }

    private func change(_ item: SecretItem, _ body: () throws(BusFault) -> Void) throws(BusFault) {
        let place = item.place
        try index.change(place, body) { (try? stored(place)) ?? nil }
    }
}
