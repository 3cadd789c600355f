import KeychainClient
import KeychainModel
import SecretServiceModel

/// The records beside the items: collections, aliases, and who was let through to an item.
extension SecretStore {
    /// A collection that was made or renamed.
    struct Collection: Sendable, Equatable {
        let name: String
        let label: String
        /// Seconds since 1970.
        let created: UInt64
        let modified: UInt64
        fileprivate let creation: Int64
    }

    /// The most collections, and the most aliases.
    static let mostCollections = 256

    // MARK: Collections

    /// The collections that were made, and the default one if it was renamed.
    func collections() throws(BusFault) -> [Collection] {
        try records(SecretRecords.collections).map(Self.collection)
            .sorted { ($0.creation, $0.name) < ($1.creation, $1.name) }
    }

    /// The collection of a name; nil if there is none.
    func collection(_ name: String) throws(BusFault) -> Collection? {
        try item(name, in: SecretRecords.collections).map(Self.collection)
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
        if let record = try item(name, in: SecretRecords.collections) { return try rename(record, to: label) }
        guard try collections().count < Self.mostCollections else {
            throw .limit("there are \(Self.mostCollections) collections already")
        }
        try write(record: name, SecretRecords.collections, label: label)
    }

    /// Deletes a collection with its items.
    func delete(collection name: String) throws(BusFault) {
        defer { index.empty() }
        for service in [name, SecretRecords.collections] {
            var query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.accessGroup: Self.group, .service: .string(service)],
                limit: .all
            )
            if service == SecretRecords.collections { query.attributes[.account] = .string(name) }
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
        try item(name, in: SecretRecords.aliases)?.content.label
    }

    /// All aliases that were set.
    func aliases() throws(BusFault) -> [String: String] {
        let aliases = try records(SecretRecords.aliases).map { ($0.name, $0.content.label) }
        return Dictionary(aliases) { first, _ in first }
    }

    /// Lets a name stand for a collection; nil for none.
    func set(alias name: String, to collection: String?) throws(BusFault) {
        let record = try item(name, in: SecretRecords.aliases)
        switch (record, collection) {
        case (let record?, let collection?): try rename(record, to: collection)
        case (let record?, nil): try delete(record)
        case (nil, let collection?):
            guard try aliases().count < Self.mostCollections else {
                throw .limit("there are \(Self.mostCollections) aliases already")
            }
            try write(record: name, SecretRecords.aliases, label: collection)
        case (nil, nil): break
        }
    }

    // MARK: Readers

    /// Remembers that the user let a program through to an item.
    func add(_ program: ProgramFile, toReadersOf item: SecretItem) throws(BusFault) {
        if let record = try self.item(item.name, in: SecretRecords.readers) {
            return try update(record, record.readers.adding(program).attributes)
        }
        try write(
            record: item.name,
            SecretRecords.readers,
            label: "readers",
            ProgramFiles().adding(program)
        )
    }

    // MARK: Records

    private func records(_ service: String) throws(BusFault) -> [SecretItem] {
        try content { content in content.items.items(in: service) }
    }

    private func write(
        record name: String,
        _ service: String,
        label: String,
        _ readers: ProgramFiles = ProgramFiles()
    ) throws(BusFault) {
        let content = SecretItemContent(label: label)
        var attributes = SecretItem.attributes(of: name, in: service, content, readers: readers)
        attributes[.isInvisible] = .boolean(true)
        try add(
            attributes,
            AccessControl(accessibility: .afterFirstUnlock),
            nil,
            at: ItemTable.Place(collection: service, name: name)
        )
    }
}
