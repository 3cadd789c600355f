import SecretServiceModel

/// Items in memory, found by where they are, by their collection and by their attributes.
///
/// A search for one item reads a few entries of a sorted array, not all items: a look-up through libsecret in 10,000 items takes 1.0 ms,
/// and took 8.7 ms. Its entries are of 8 bytes, and there is no dictionary of the places beside it, because 10,000 items may take the door
/// to 15 MB (`Scripts/benchmark --only secrets`).
struct ItemTable: Sendable {
    /// Where an item is.
    struct Place: Hashable, Sendable {
        let collection: String
        let name: String
    }

    /// That the item of a row has an attribute, is in a collection, or is at a place, by a hash value.
    private struct Posting: Comparable, Sendable {
        let hash: UInt32
        let row: Int32

        static func < (one: Self, other: Self) -> Bool {
            (one.hash, one.row) < (other.hash, other.row)
        }
    }

    private var rows: [SecretItem?] = []
    private var freeRows: [Int32] = []
    /// Sorted.
    private var postings: [Posting] = []

    /// A table of these items, each at a place of its own.
    init(_ items: [SecretItem] = []) {
        rows = items
        postings.reserveCapacity(items.reduce(0) { $0 + 2 + $1.content.attributes.count })
        for (row, item) in items.enumerated() {
            postings += Self.hashes(of: item).map { Posting(hash: $0, row: Int32(row)) }
        }
        postings.sort()
    }

    /// The item at a place; nil for none.
    subscript(place: Place) -> SecretItem? {
        get { row(of: place).flatMap { rows[Int($0)] } }
        set {
            if let row = row(of: place) { remove(row) }
            if let newValue { insert(newValue) }
        }
    }

    private func row(of place: Place) -> Int32? {
        // Two places may have one hash.
        postings[range(of: Self.hash(place))].first { rows[Int($0.row)]?.place == place }?.row
    }

    /// The items that have at least these attributes, of one collection or of all.
    func items(in collection: String? = nil, having pairs: [String: String] = [:]) -> [SecretItem] {
        var hashes = pairs.map { Self.hash($0.key, $0.value) }
        if let collection { hashes.append(Self.hash(ofCollection: collection)) }
        guard let fewest = hashes.map({ range(of: $0) }).min(by: { $0.count < $1.count }) else {
            return rows.compactMap(\.self)
        }
        // Two values may have one hash.
        return postings[fewest].compactMap { rows[Int($0.row)] }.filter { item in
            (collection ?? item.collection) == item.collection
                && pairs.allSatisfy { item.content.attributes[$0.key] == $0.value }
        }
    }

    /// How many items a collection has; more, if another one has the same hash value.
    func count(in collection: String) -> Int { range(of: Self.hash(ofCollection: collection)).count }

    // MARK: Rows

    private mutating func insert(_ item: SecretItem) {
        let row = freeRows.popLast() ?? Int32(rows.count)
        if Int(row) == rows.count { rows.append(item) } else { rows[Int(row)] = item }
        for hash in Self.hashes(of: item) {
            let posting = Posting(hash: hash, row: row)
            postings.insert(posting, at: start(of: posting))
        }
    }

    private mutating func remove(_ row: Int32) {
        guard let item = rows[Int(row)] else { return }
        for hash in Self.hashes(of: item) {
            let posting = Posting(hash: hash, row: row)
            let index = start(of: posting)
            if index < postings.count, postings[index] == posting { postings.remove(at: index) }
        }
        rows[Int(row)] = nil
        freeRows.append(row)
    }

    /// The first position whose posting is not before this one.
    private func start(of posting: Posting) -> Int {
        var (low, high) = (0, postings.count)
        while low < high {
            let middle = (low + high) / 2
            if postings[middle] < posting { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func range(of hash: UInt32) -> Range<Int> {
        let first = start(of: Posting(hash: hash, row: .min))
        return first..<max(first, start(of: Posting(hash: hash, row: .max)))
    }

    /// The hash values of an item, each once.
    private static func hashes(of item: SecretItem) -> Set<UInt32> {
        var hashes = Set(item.content.attributes.map { hash($0.key, $0.value) })
        hashes.insert(hash(ofCollection: item.collection))
        hashes.insert(hash(item.place))
        return hashes
    }

    private static func hash(_ name: String, _ value: String) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(name)
        hasher.combine(value)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    private static func hash(ofCollection name: String) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(name)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    private static func hash(_ place: Place) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(place)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }
}

extension SecretItem {
    /// Where it is.
    var place: ItemTable.Place { ItemTable.Place(collection: collection, name: name) }
}
