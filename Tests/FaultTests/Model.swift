import KeychainClient
import KeychainModel
import SecretMemory
import TouchstoneTesting

/// The expected content of the store, as far as its answers show.
struct Model {
    /// Acknowledged values by account.
    private(set) var certain: [String: String] = [:]
    /// For accounts whose last change was not answered: the possible values, nil for no item.
    private(set) var open: [String: Set<String?>] = [:]

    mutating func before(_ account: String, becomes value: String?) {
        open[account, default: []].formUnion([certain[account], value])
    }

    mutating func answered(_ account: String, is value: String?) {
        certain[account] = value
        open[account] = nil
    }

    /// The differences from the expected content; empty if there are none.
    func faults(in found: [String: String]) -> [String] {
        var faults: [String] = []
        for (account, value) in certain where open[account] == nil && found[account] != value {
            faults.append("\(account): acknowledged \(value), found \(found[account] ?? "nothing")")
        }
        for (account, value) in found where certain[account] == nil && open[account] == nil {
            faults.append("\(account): \(value) was deleted or never stored")
        }
        for (account, values) in open where !values.contains(found[account]) {
            faults.append("\(account): found \(found[account] ?? "nothing"), which it never was")
        }
        return faults
    }
}

/// A change of one account.
struct Change {
    /// The kind of request.
    enum Kind {
        case add, update, delete
    }

    let kind: Kind
    let account: String
    /// The value after the change; nil for no item.
    let value: String?

    /// Additions, updates and deletions; the accounts of ``former`` exist before.
    static let script: [Change] = (0..<3).flatMap { round in
        [
            Change(kind: .add, account: "item \(round)", value: "first \(round)"),
            Change(kind: .update, account: "item \(round)", value: "second \(round)"),
            Change(kind: .delete, account: "former \(round)", value: nil),
        ]
    }

    /// The items before the script.
    static let former: [Change] = (0..<3).map {
        Change(kind: .add, account: "former \($0)", value: "old \($0)")
    }

    /// The model after `count` answers to ``script``, with the next change in progress.
    static func model(afterAnswers count: Int) -> Model {
        model(former: former, script: script, afterAnswers: count)
    }

    /// The same for another script and other former items.
    static func model(former: [Change], script: [Change], afterAnswers count: Int) -> Model {
        var model = Model()
        for change in former { model.answered(change.account, is: change.value) }
        for change in script.prefix(count) { model.answered(change.account, is: change.value) }
        for change in script.dropFirst(count).prefix(1) {
            model.before(change.account, becomes: change.value)
        }
        return model
    }
}

extension PrivateKeychain {
    static let service = AttributeValue.string("faults")

    /// A keychain with the former items of ``Change/script``.
    static func withFormerItems(settings: [String] = []) async throws -> PrivateKeychain {
        let keychain = try await ready(settings: settings)
        for change in Change.former { try keychain.apply(change) }
        return keychain
    }

    func query(_ account: String? = nil) -> ItemQuery {
        var attributes: ItemAttributes = [.service: Self.service]
        if let account { attributes[.account] = .string(account) }
        return ItemQuery(itemClass: .genericPassword, attributes: attributes)
    }

    func apply(_ change: Change) throws {
        switch change.kind {
        case .add: try add(change.account, change.value ?? "")
        case .update: try update(change.account, change.value ?? "")
        case .delete: try delete(change.account)
        }
    }

    func add(
        _ account: String,
        _ value: String,
        _ control: AccessControl = AccessControl(accessibility: .whenUnlocked),
        through other: RemoteKeychain? = nil
    ) throws {
        _ = try (other ?? client).add(
            AddItem(
                itemClass: .genericPassword,
                attributes: [.service: Self.service, .account: .string(account)],
                accessControl: control,
                data: SecretBytes(copying: Array(value.utf8)),
                prompt: prompt()
            )
        )
    }

    func update(_ account: String, _ value: String, through other: RemoteKeychain? = nil) throws {
        _ = try (other ?? client).update(
            UpdateItems(
                query: query(account),
                attributes: [:],
                accessControl: nil,
                data: SecretBytes(copying: Array(value.utf8)),
                prompt: prompt()
            )
        )
    }

    func delete(_ account: String, through other: RemoteKeychain? = nil) throws {
        _ = try (other ?? client).delete(DeleteItems(query: query(account), prompt: prompt()))
    }

    /// The value of one account.
    func value(_ account: String, through other: RemoteKeychain? = nil) throws -> String? {
        var one = query(account)
        one.returns = .data
        let results = try (other ?? client).copy(CopyItems(query: one, prompt: prompt()))
        let item = results.first()
        guard let data = try item?.copyData() else { return nil }
        return data.text()
    }

    /// All values by account.
    func all() throws -> [String: String] {
        var everything = query()
        everything.limit = .all
        everything.returns = [.attributes, .data]
        do {
            return try Self.values(in: try client.copy(CopyItems(query: everything, prompt: prompt())))
        } catch let error as KeychainError where error.status == .itemNotFound {
            return [:]
        }
    }

    private static func values(in results: borrowing ItemResults) throws -> [String: String] {
        var found: [String: String] = [:]
        try results.forEach { (item: borrowing ItemResult) throws in
            guard case .string(let account) = item.attributes?[.account], let data = try item.copyData()
            else {
                return
            }
            found[account] = data.text()
        }
        return found
    }
}

extension SecretBytes {
    /// The bytes as text; for secrets of tests only.
    borrowing func text() -> String {
        withOctets { octets in String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self) }
    }
}
