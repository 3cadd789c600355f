internal import Glibc
internal import KeychainModel

/// A prepared query: the source of its rows, and the conditions for a match.
final class ItemSearch {
    /// The source of candidate rows.
    enum Source {
        /// Rows whose column has one of these digests.
        case rows(Column, [[UInt8]])
        /// Rows of one name, found through the tags of all rows.
        case name([UInt8])
        /// Rows of one name and first attribute, found through the index.
        case indexedName(first: [UInt8], [UInt8])
        /// These rows with their references, in ascending order.
        case references([(row: Int64, reference: PersistentReference)])

        /// Whether an index determines the rows; otherwise the set's tags do.
        var needsIndex: Bool {
            switch self {
            case .rows, .indexedName: true
            case .name, .references: false
            }
        }
    }

    /// An indexed column.
    enum Column: String {
        case scope, first, second, label

        /// Selects rows that have one of `count` digests and follow a given row.
        func selection(of columns: String, _ count: Int) -> String {
            let marks =
                count == 1
                ? "= ?" : "IN (" + Array(repeating: "?", count: count).joined(separator: ", ") + ")"
            return """
                SELECT \(columns) FROM items INDEXED BY items_\(rawValue) \
                WHERE \(rawValue) \(marks) AND id > ? ORDER BY id
                """
        }
    }

    let query: ItemQuery
    let source: Source
    private let match: AttributeMatch
    private let groups: [String]

    init(_ query: ItemQuery, groups: [AccessGroup], in context: ItemContext) throws(KeychainError) {
        self.query = query
        let attributes = query.attributes
        var names = groups.map { $0.name }
        switch attributes[.accessGroup] {
        case .string(let group): names = names.filter { $0 == group }
        case .some: throw KeychainError(.param)
        case nil: break
        }
        let synchronizable: AttributeValue?
        switch attributes[.synchronizable] {
        case nil where query.references.isEmpty: synchronizable = .boolean(false)
        case .string("syna"), nil: synchronizable = nil
        case .integer(let number): synchronizable = .boolean(number != 0)
        case .boolean(let flag): synchronizable = .boolean(flag)
        default: throw KeychainError(.param)
        }
        self.groups = names
        match = AttributeMatch(attributes, synchronizable: synchronizable, itemClass: query.itemClass)
        let digester = context.lookup
        if query.references.isEmpty {
            guard let itemClass = query.itemClass else { throw KeychainError(.param) }
            source = Self.source(attributes, itemClass, names, digester)
        } else {
            let rows = Set(query.references).map { (ItemReference.row($0, digester), $0) }
            source = .references(rows.sorted { $0.0 < $1.0 })
        }
    }

    /// The narrowest source for the query.
    private static func source(
        _ attributes: ItemAttributes,
        _ itemClass: ItemClass,
        _ groups: [String],
        _ digester: LookupDigester
    ) -> Source {
        let nameKeys = LookupDigester.nameKeys(of: itemClass)
        if groups.count == 1, !nameKeys.isEmpty, nameKeys.allSatisfy({ attributes[$0] != nil }) {
            return .name(digester.name(attributes, itemClass, groups[0]))
        }
        if let key = LookupDigester.firstKey(of: itemClass), let value = attributes[key], !value.isBlank {
            return .rows(.first, groups.map { digester.first(attributes, itemClass, $0) })
        }
        let indexed: [(Column, AttributeKey)] = [
            (.second, LookupDigester.secondKey(of: itemClass)), (.label, .label),
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

    /// The source while some tags are unread: a row it finds exists, but others may exist too.
    func partialSource(in context: ItemContext) throws(KeychainError) -> Source {
        guard case .name(let name) = source, let itemClass = query.itemClass, let group = groups.first else {
            return source
        }
        return .indexedName(first: context.lookup.first(query.attributes, itemClass, group), name)
    }

    /// Whether an opened row is part of the result.
    func matches(_ row: ItemRow, _ item: OpenedHeader) -> Bool {
        if case .references(let references) = source {
            // There may be thousands, sorted by row: search by bisection.
            var (start, end) = (0, references.count)
            while start < end {
                let middle = (start + end) / 2
                if references[middle].row < row.id { start = middle + 1 } else { end = middle }
            }
            let ofRow = references[start...].prefix { $0.row == row.id }
            let isWanted = ofRow.contains { unsafe row.reference.elementsEqual($0.reference.octets) }
            guard isWanted else { return false }
        }
        return matches(item)
    }

    /// Whether an opened item is part of the result.
    func matches(_ item: OpenedHeader) -> Bool {
        if let itemClass = query.itemClass, !item.has(itemClass) { return false }
        let group = unsafe item.group
        let octets = group.count
        let isOurs = groups.contains { name in
            let isEqual = unsafe name.utf8.withContiguousStorageIfAvailable { name in
                guard name.count == group.count, let name = name.baseAddress, let group = group.baseAddress
                else { return false }
                return unsafe memcmp(name, group, octets) == 0
            }
            return isEqual ?? false
        }
        return unsafe isOurs && match.matches(item.attributes)
    }

    /// The most items in the result.
    var limit: Int {
        switch query.limit {
        case .one: 1
        case .count(let count): count
        case .all: .max
        }
    }
}
