import KeychainClient
import KeychainModel
import SecretServiceModel

/// The daemon's records of which programs got which secrets.
struct ReadRecords {
    /// A record, and what is known now of the items it names.
    struct Entry {
        let read: SecretRead
        /// The items of other programs among them that are still there.
        let items: [SecretItem]
    }

    let keychain: RemoteKeychain

    init(keychain: RemoteKeychain = .shared) { self.keychain = keychain }

    /// The last records, the oldest first.
    ///
    /// - Parameter most: how many; nil for all.
    /// - Returns: the records.
    /// - Throws: ``CommandError``; a damaged one is an error, not less.
    func last(_ most: Int?) throws(CommandError) -> [Entry] {
        var reads: [SecretRead] = []
        // Each store of the daemon's has an item of its own.
        for name in try names().reversed() {
            reads.insert(contentsOf: try stored(name).reads, at: 0)
            if let most, reads.count >= most { break }
        }
        // What is stored later began earlier where two programs read at the same time.
        reads.sort { $0.time < $1.time }
        if let most { reads = Array(reads.suffix(most)) }
        let references = Set(reads.flatMap(\.references))
        let known = references.isEmpty ? [] : try ServiceSecrets(keychain: keychain).items()
        let items = Dictionary(known.map { ($0.reference, $0) }) { first, _ in first }
        return reads.map { read in Entry(read: read, items: read.references.compactMap { items[$0] }) }
    }

    private func names() throws(CommandError) -> [String] {
        var names: [String] = []
        try copy(query(nil, limit: .all, returns: .attributes)) { results in
            results.forEach { result in
                guard case .string(let name)? = result.attributes?[.account] else { return }
                names.append(name)
            }
        }
        return names.sorted()
    }

    private func stored(_ name: String) throws(CommandError) -> SecretReads {
        var reads: SecretReads?
        try copy(query(name, limit: .one, returns: .data)) { results throws(KeychainError) in
            reads = try results.first()?.withData { octets throws(KeychainError) in try SecretReads(octets) }
        }
        // Deleted since it was listed: it was too old.
        return reads ?? .none
    }

    private func copy(
        _ query: ItemQuery,
        _ body: (borrowing ItemResults) throws(KeychainError) -> Void
    ) throws(CommandError) {
        do throws(KeychainError) {
            let prompt = PromptFields(origin: .current(), reason: "Show which programs got which secrets.")
            try body(try keychain.copy(CopyItems(query: query, prompt: prompt)))
        } catch {
            guard error.status != .itemNotFound else { return }
            throw ErrorText.describe(error)
        }
    }

    private func query(_ name: String?, limit: ItemQuery.Limit, returns: ItemQuery.Returns) -> ItemQuery {
        var attributes: ItemAttributes = [.accessGroup: .string(AccessGroup.reads.name)]
        if let name { attributes[.account] = .string(name) }
        return ItemQuery(itemClass: .genericPassword, attributes: attributes, limit: limit, returns: returns)
    }
}

extension ReadRecords.Entry {
    /// The headings of ``columns(_:)``.
    static let headings = ["TIME", "PROGRAM", "STARTED BY", "DID", "WHAT", "REQUIRES", "SHOWN", "TIMES"]

    /// The cells of a table.
    func columns(_ date: (Int64) -> String) -> [String] {
        [
            date(read.time), program, read.startedBy, read.method.rawValue, what,
            Set(items.map(\.requirementName)).sorted().joined(separator: ", "),
            shown.joined(separator: ", "), String(read.times),
        ]
    }

    /// The record for programs.
    var json: JSONText {
        .object([
            ("time", .text(DateText.iso8601(microseconds: read.time))),
            ("times", .number(Int64(clamping: read.times))),
            ("method", .text(read.method.rawValue)), ("door", .optional(read.door)),
            ("program", .optional(read.program)), ("process", .number(Int64(read.process))),
            ("startedBy", .list(read.startedBy.split(separator: ", ").map { .text(String($0)) })),
            ("group", .text(read.group)), ("what", .text(read.name)),
            ("count", .number(Int64(clamping: read.count))),
            (
                "items",
                .list(
                    items.map { item in
                        .object([
                            ("name", .text(item.name)), ("label", .text(item.content.label)),
                            ("requires", .text(item.requirementName)),
                        ])
                    }
                )
            ),
            ("shown", .list(shown.map(JSONText.text))),
        ])
    }

    private var program: String {
        let name = "\(read.program ?? "an unknown program") (\(read.process))"
        return read.door.map { "\(name) by \($0)" } ?? name
    }

    private var what: String {
        let labels = items.map { PromptDetails.quoted($0.content.label) }
        let names = (read.name.isEmpty ? [] : [read.name]) + labels
        let gone = read.references.count - items.count
        let others = Int(clamping: read.count) - max(read.references.count, 1)
        return
            (names + (gone > 0 ? ["\(gone) of other names"] : []) + (others > 0 ? ["\(others) more"] : []))
            .joined(separator: ", ")
    }

    private var shown: [String] {
        read.factors.map { factor in
            switch factor {
            case .biometry: "finger"
            case .passcode: "passcode"
            }
        }.sorted()
    }
}
