import KeychainClient
import KeychainModel
import SecretMemory
import TouchstoneTesting

/// What the store must hold, as far as its answers were seen.
struct Model {
    /// Values that were acknowledged, by account.
    private(set) var certain: [String: String] = [:]
    /// For accounts whose last change was not answered: what may be there, nil for nothing.
    private(set) var open: [String: Set<String?>] = [:]

    mutating func before(_ account: String, becomes value: String?) {
        open[account, default: []].formUnion([certain[account], value])
    }

    mutating func answered(_ account: String, is value: String?) {
        certain[account] = value
        open[account] = nil
    }

    /// What is wrong about what was found; empty when nothing is.
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

extension TemporaryKeychain {
    private static let service = AttributeValue.string("faults")

    func query(_ account: String? = nil) -> ItemQuery {
        var attributes: ItemAttributes = [.service: Self.service]
        if let account { attributes[.account] = .string(account) }
        return ItemQuery(itemClass: .genericPassword, attributes: attributes)
    }

    func add(_ account: String, _ value: String) throws {
        _ = try client.add(
            AddItem(
                itemClass: .genericPassword,
                attributes: [.service: Self.service, .account: .string(account)],
                accessControl: AccessControl(accessibility: .whenUnlocked),
                data: SecretBytes(copying: Array(value.utf8)),
                prompt: prompt()
            )
        )
    }

    func update(_ account: String, _ value: String) throws {
        _ = try client.update(
            UpdateItems(
                query: query(account),
                attributes: [:],
                accessControl: nil,
                data: SecretBytes(copying: Array(value.utf8)),
                prompt: prompt()
            )
        )
    }

    func delete(_ account: String) throws {
        _ = try client.delete(DeleteItems(query: query(account), prompt: prompt()))
    }

    /// All values, by account.
    func all() throws -> [String: String] {
        var everything = query()
        everything.limit = .all
        everything.returns = [.attributes, .data]
        var found: [String: String] = [:]
        do {
            let results = try client.copy(CopyItems(query: everything, prompt: prompt()))
            try results.forEach { (item: inout ItemResult) throws in
                guard case .string(let account) = item.attributes?[.account] else { return }
                guard let data = item.data.take() else { return }
                found[account] = data.withOctets { octets in
                    String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
                }
            }
        } catch let error as KeychainError where error.status == .itemNotFound {
            return [:]
        }
        return found
    }
}
