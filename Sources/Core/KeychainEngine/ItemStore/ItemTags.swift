internal import Primitives

/// What the sealed record of the set says of one row: any other row, and any other state of the same, has another.
struct ItemTag: Equatable {
    /// The end of the sealed attributes' authentication tag, which each sealing makes anew: cheap to compare at each
    /// look.
    ///
    /// Attributes that were altered do not open; attributes of another time have another tag.
    var attributes: UInt64
    /// The digest of its name (``LookupDigests/name``).
    var name: UInt64
    /// A keyed digest over the row's number, its reference, what it is found by, its wraps, and the length and nonce of
    /// its data.
    var rest: UInt64

    static let byteCount = 24

    /// What tells sealed data from others.
    struct DataMark {
        let count: Int
        let nonce: (UInt64, UInt32)

        /// `start` are the first bytes, 12 at least.
        init(count: Int, start: UnsafeRawBufferPointer) {
            self.count = count
            nonce =
                start.count < AEAD.nonceByteCount
                ? (0, 0)
                : unsafe (
                    start.loadUnaligned(as: UInt64.self),
                    start.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
                )
        }
    }

    /// `digests` are those that have a column, in their order; zeros stand for none.
    init(
        row: Int64,
        reference: UnsafeRawBufferPointer,
        attributes: UnsafeRawBufferPointer,
        digests: UnsafeRawBufferPointer,
        keys: UnsafeRawBufferPointer?,
        data: DataMark?,
        key: KeyedDigest
    ) {
        self.attributes = unsafe Self.end(of: attributes)
        name = unsafe RowsByName.number(
            UnsafeRawBufferPointer(rebasing: digests[LookupDigests.Part.name.range])
        )
        let keysCount = unsafe keys?.count ?? -1
        let count = 1 + 8 + reference.count + digests.count + 8 + 8 + 12 + max(keysCount, 0)
        rest = unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { octets in
            var place = 0
            func append<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
                unsafe octets.storeBytes(of: number, toByteOffset: place, as: Number.self)
                place += MemoryLayout<Number>.size
            }
            func append(_ part: UnsafeRawBufferPointer) {
                unsafe UnsafeMutableRawBufferPointer(rebasing: octets[place...]).copyMemory(from: part)
                place += part.count
            }
            append(UInt8(1))
            append(row.littleEndian)
            unsafe append(reference)
            unsafe append(digests)
            // -1 stands for none.
            append(Int64(keysCount).littleEndian)
            append(Int64(data?.count ?? -1).littleEndian)
            append(data?.nonce.0 ?? 0)
            append(data?.nonce.1 ?? 0)
            if let keys = unsafe keys { unsafe append(keys) }
            return unsafe key.words(of: UnsafeRawBufferPointer(octets)).x
        }
    }

    fileprivate init(_ octets: UnsafeRawBufferPointer, at offset: Int) {
        func number(_ place: Int) -> UInt64 {
            unsafe UInt64(littleEndian: octets.loadUnaligned(fromByteOffset: offset + place, as: UInt64.self))
        }
        attributes = number(0)
        name = number(8)
        rest = number(16)
    }

    /// What a row's attributes are compared by.
    static func end(of attributes: UnsafeRawBufferPointer) -> UInt64 {
        guard attributes.count >= 8 else { return 0 }
        return unsafe attributes.loadUnaligned(fromByteOffset: attributes.count - 8, as: UInt64.self)
    }
}

/// The tags of all rows, as they are in memory: what is there is known without the file.
///
/// They are recorded in groups of 16 rows; a change writes one group of some hundred bytes.
///
/// The first unlock reads all of them where they are one section (``ItemSetDigest``): 2.3 ms of the processor for 10,000
/// rows (release, AMD64). Of a larger store, a section is read when it is needed, and the rest in the background.
struct ItemTags {
    private static let rowBits: Int64 = 4

    /// A group as it is recorded: which of its rows there are (4 bytes), and the tag of each.
    struct Group {
        fileprivate var present: UInt32 = 0
        fileprivate var tags: [ItemTag] = []
        /// What it contributes to the set's digest as it was last recorded; nil where it was not.
        var contribution: SIMD4<UInt64>?

        var isEmpty: Bool { present == 0 }

        fileprivate func place(of row: Int64) -> (bit: UInt32, index: Int) {
            let bit = UInt32(1) << UInt32(row & 15)
            return (bit, (present & (bit - 1)).nonzeroBitCount)
        }
    }

    private var groups: [Int64: Group] = [:]
    private(set) var count = 0
    private(set) var names = RowsByName()
    /// What changed since the last commit, and what it was before.
    private var changes: [(row: Int64, former: ItemTag?)] = []

    /// The tag of a row; nil where there is none.
    subscript(_ row: Int64) -> ItemTag? {
        guard let group = groups[row >> Self.rowBits] else { return nil }
        let (bit, index) = group.place(of: row)
        return group.present & bit == 0 ? nil : group.tags[index]
    }

    /// The last row; 0 where there is none.
    var last: Int64 {
        guard let number = groups.lazy.filter({ !$0.value.isEmpty }).map(\.key).max(),
            let group = groups[number]
        else { return 0 }
        return number << Self.rowBits + Int64(31 - group.present.leadingZeroBitCount)
    }

    /// All rows, in no order.
    var rows: [Int64] {
        groups.flatMap { number, group in
            (0..<16).filter { group.present & (1 << UInt32($0)) != 0 }.map { number << Self.rowBits + $0 }
        }
    }

    // MARK: Changes

    /// Gives a row a tag, or none where it goes.
    mutating func set(_ tag: ItemTag?, row: Int64) {
        changes.append((row, put(tag, row)))
    }

    /// How much has changed since the last commit, to be taken back to.
    var mark: Int { changes.count }

    /// Takes back what changed since a mark.
    mutating func rollBack(to mark: Int = 0) {
        while changes.count > mark, let change = changes.popLast() { _ = put(change.former, change.row) }
    }

    /// What changed is durable.
    mutating func keep() { changes.removeAll(keepingCapacity: true) }

    /// The numbers of groups that changed since the last commit.
    var changedGroups: Set<Int64> { Set(changes.lazy.map { $0.row >> Self.rowBits }) }

    private mutating func put(_ tag: ItemTag?, _ row: Int64) -> ItemTag? {
        let former = Self.put(tag, row, in: &groups[row >> Self.rowBits, default: Group()])
        if let former { names.remove(row, former.name) }
        if let tag { names.insert(row, tag.name) }
        count += (tag == nil ? 0 : 1) - (former == nil ? 0 : 1)
        return former
    }

    /// Static: a method of the value would hold its groups meanwhile, and all of them would be copied at each change.
    private static func put(_ tag: ItemTag?, _ row: Int64, in group: inout Group) -> ItemTag? {
        let (bit, index) = group.place(of: row)
        guard group.present & bit == 0 else {
            let former = group.tags[index]
            if let tag {
                group.tags[index] = tag
            } else {
                group.tags.remove(at: index)
                group.present &= ~bit
            }
            return former
        }
        if let tag {
            group.tags.insert(tag, at: index)
            group.present |= bit
        }
        return nil
    }

    // MARK: Recorded form

    /// What a group contributes to the set's digest as it was last recorded.
    func contribution(of number: Int64) -> SIMD4<UInt64>? { groups[number]?.contribution }

    /// What the groups of a range contribute, as they were last recorded.
    func contributions(in range: Range<Int64>) -> [Int64: SIMD4<UInt64>] {
        groups.reduce(into: [:]) { found, group in
            if range.contains(group.key) { found[group.key] = group.value.contribution }
        }
    }

    /// The number of a row's group.
    static func group(of row: Int64) -> Int64 { row >> rowBits }

    mutating func setContribution(_ contribution: SIMD4<UInt64>?, of number: Int64) {
        groups[number]?.contribution = contribution
        if contribution == nil { groups[number] = nil }
    }

    /// A group as it is recorded; nil where it has no rows.
    func encoded(_ number: Int64) -> [UInt8]? {
        guard let group = groups[number], !group.isEmpty else { return nil }
        var octets: [UInt8] = []
        octets.reserveCapacity(4 + group.tags.count * ItemTag.byteCount)
        unsafe withUnsafeBytes(of: group.present.littleEndian) { unsafe octets.append(contentsOf: $0) }
        for tag in group.tags {
            for number in [tag.attributes, tag.name, tag.rest] {
                unsafe withUnsafeBytes(of: number.littleEndian) { unsafe octets.append(contentsOf: $0) }
            }
        }
        return octets
    }

    /// Takes a recorded group, whose contribution was computed.
    ///
    /// - Returns: false when it is none.
    mutating func take(
        _ octets: UnsafeRawBufferPointer,
        number: Int64,
        contribution: SIMD4<UInt64>
    ) -> Bool {
        guard number >= 0, number <= Int64.max >> Self.rowBits, octets.count >= 4 else { return false }
        let present = unsafe UInt32(littleEndian: octets.loadUnaligned(as: UInt32.self))
        guard present != 0, present <= 0xFFFF, groups[number] == nil,
            octets.count == 4 + present.nonzeroBitCount * ItemTag.byteCount
        else { return false }
        var group = Group()
        group.present = present
        group.contribution = contribution
        group.tags = stride(from: 4, to: octets.count, by: ItemTag.byteCount).map {
            unsafe ItemTag(octets, at: $0)
        }
        var rest = present
        for tag in group.tags {
            names.insert(number << Self.rowBits + Int64(rest.trailingZeroBitCount), tag.name)
            rest &= rest - 1
        }
        count += group.tags.count
        groups[number] = group
        return true
    }

    mutating func reserve(_ groupCount: Int) {
        groups.reserveCapacity(groupCount)
        names.reserve(groupCount << Int(Self.rowBits))
    }
}
