internal import Foundation
internal import KeychainModel

/// A query made ready: where its rows are found, and what makes one of them match.
struct ItemSearch {
    /// Where candidates come from.
    enum Source {
        /// Rows whose column has one of these digests.
        case rows(Column, [[UInt8]])
        /// The rows of these references.
        case references([PersistentReference])
    }

    /// An indexed column.
    enum Column: String {
        case scope, name, first, second, label
    }

    let query: ItemQuery
    let source: Source
    private let match: AttributeMatch
    private let groups: [[UInt8]]

    init(_ query: ItemQuery, groups: [AccessGroup], keys: KeyRing) throws(KeychainError) {
        self.query = query
        var attributes = query.attributes
        // Accepted in a search and not matched on (`keychain.md`, rule 4).
        attributes[.accessControl] = nil
        var names = groups.map { $0.name }
        switch attributes.removeValue(forKey: .accessGroup) {
        case .string(let group): names = names.filter { $0 == group }
        case .some: throw KeychainError(.param)
        case nil: break
        }
        switch attributes[.synchronizable] {
        case nil where query.references.isEmpty: attributes[.synchronizable] = .boolean(false)
        case .string("syna"): attributes[.synchronizable] = nil
        case .integer(let number): attributes[.synchronizable] = .boolean(number != 0)
        case nil, .boolean: break
        default: throw KeychainError(.param)
        }
        self.groups = names.map { Array($0.utf8) }
        let primaryKey = query.itemClass.map { PrimaryKey.attributes(of: $0) } ?? []
        match = AttributeMatch(attributes, primaryKey: primaryKey)
        if query.references.isEmpty {
            guard let itemClass = query.itemClass else { throw KeychainError(.param) }
            let digester = LookupDigester(key: try keys.require(.lookup))
            source = Self.source(attributes, itemClass, names, digester)
        } else {
            source = .references(query.references)
        }
    }

    /// The narrowest index for what is asked.
    private static func source(
        _ attributes: ItemAttributes,
        _ itemClass: ItemClass,
        _ groups: [String],
        _ digester: LookupDigester
    ) -> Source {
        let nameKeys = LookupDigester.nameKeys(of: itemClass)
        if !nameKeys.isEmpty, nameKeys.allSatisfy({ attributes[$0] != nil }) {
            return .rows(.name, groups.map { digester.name(attributes, itemClass, $0) })
        }
        let indexed: [(Column, AttributeKey)] = [
            (.first, LookupDigester.firstKey(of: itemClass)),
            (.second, LookupDigester.secondKey(of: itemClass)),
            (.label, .label),
        ]
        for (column, attribute) in indexed {
            guard let value = attributes[attribute], !value.isBlank else { continue }
            let label = column.rawValue
            return .rows(
                column,
                groups.compactMap { digester.value(of: attribute, in: attributes, label, itemClass, $0) }
            )
        }
        return .rows(.scope, groups.map { digester.scope(itemClass, $0) })
    }

    /// Whether an opened item is one of those asked for.
    func matches(_ item: OpenedHeader) -> Bool {
        if let itemClass = query.itemClass, !item.has(itemClass) { return false }
        let group = unsafe item.group
        let isOurs = groups.contains { name in
            guard name.count == group.count else { return false }
            return unsafe name.withUnsafeBytes { unsafe $0.elementsEqual(group) }
        }
        return unsafe isOurs && match.matches(item.attributes)
    }

    /// How many items may answer.
    var limit: Int {
        switch query.limit {
        case .one: 1
        case .count(let count): count
        case .all: .max
        }
    }
}
