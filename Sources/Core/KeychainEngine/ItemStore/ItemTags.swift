internal import Primitives

/// The fingerprint of one row in the sealed record of the set: any other row or state of the row has a different one.
struct ItemTag: Equatable {
    /// The end of the sealed attributes' authentication tag, which changes with each sealing: cheap to compare at each
    /// read.
    ///
    /// Modified attributes do not open; attributes of another sealing have another tag.
    var attributes: UInt64
    /// The digest of its name (``LookupDigests/name``).
    var name: UInt64
    /// A keyed digest of the row number, the reference, the look-up digests, the wraps, and the length and nonce of the
    /// data.
    var rest: UInt64

    static let byteCount = 24

    /// The fields that distinguish one sealing of data from another.
    struct DataMark {
        let count: Int
        let nonce: (UInt64, UInt32)

        /// Reads the nonce; `start` is the first 12 bytes at least.
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

    /// `digests` are the digests that have columns, in order; zeros stand for NULL.
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
            // -1 stands for nil.
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

    /// The part of sealed attributes that tags compare.
    static func end(of attributes: UnsafeRawBufferPointer) -> UInt64 {
        guard attributes.count >= 8 else { return 0 }
        return unsafe attributes.loadUnaligned(fromByteOffset: attributes.count - 8, as: UInt64.self)
    }
}

/// The tags of all rows in memory: which rows exist is known without reading the file.
///
/// They are recorded in groups of 16 rows; a change writes one group of some hundred bytes.
///
/// The first unlock reads all tags if there is one section (``ItemSetDigest``): 2.3 ms of CPU time for 10,000 rows
/// (release, AMD64). In a larger store, a section is read when it is needed, and the rest in the background.
struct ItemTags {
    private static let rowBits: Int64 = 4

    /// A group as recorded: a bit mask of its rows (4 bytes), and the tag of each.
    struct Group {
        fileprivate var present: UInt32 = 0
        fileprivate var tags: [ItemTag] = []
        /// Its contribution to the set's digest as last recorded; nil if it was not recorded.
        var contribution: SIMD4<UInt64>?

        var isEmpty: Bool { present == 0 }

        fileprivate func place(of row: Int64) -> (bit: UInt32, index: Int) {
            let bit = UInt32(1) << UInt32(row & 15)
            return (bit, (present & (bit - 1)).nonzeroBitCount)
        }

        fileprivate func tag(of row: Int64) -> ItemTag? {
            let (bit, index) = place(of: row)
            return present & bit == 0 ? nil : tags[index]
        }
    }

    private var groups: [Int64: Group] = [:]
    private(set) var count = 0
    private(set) var names = RowsByName()
    /// The changes since the last commit, with the former tags.
    private var changes: [(row: Int64, former: ItemTag?)] = []

    /// The tag of a row; nil if there is none.
    subscript(_ row: Int64) -> ItemTag? { groups[row >> Self.rowBits]?.tag(of: row) }

    /// The tags for rows in ascending order: a group is found once for its 16 rows.
    struct Reader {
        private let tags: ItemTags
        private var number: Int64 = -1
        private var group: Group?

        init(_ tags: ItemTags) { self.tags = tags }

        /// The tag of a row; nil if there is none.
        mutating func tag(of row: Int64) -> ItemTag? {
            if row >> rowBits != number {
                number = row >> rowBits
                group = tags.groups[number]
            }
            return group?.tag(of: row)
        }
    }

    /// The last row; 0 if there is none.
    var last: Int64 {
        guard let number = groups.lazy.filter({ !$0.value.isEmpty }).map(\.key).max(),
            let group = groups[number]
        else { return 0 }
        return number << Self.rowBits + Int64(31 - group.present.leadingZeroBitCount)
    }

    /// All rows, unordered.
    var rows: [Int64] {
        groups.flatMap { number, group in
            (0..<16).filter { group.present & (1 << UInt32($0)) != 0 }.map { number << Self.rowBits + $0 }
        }
    }

    // MARK: Changes

    /// Sets the tag of a row; nil removes the row.
    mutating func set(_ tag: ItemTag?, row: Int64) {
        changes.append((row, put(tag, row)))
    }

    /// Rolls back the changes since the last commit.
    mutating func rollBack() {
        while let change = changes.popLast() { _ = put(change.former, change.row) }
    }

    /// Call this when the changes are durable.
    mutating func keep() { changes.removeAll(keepingCapacity: true) }

    /// The rows changed since the last commit.
    var changedRows: [Int64] { changes.map(\.row) }

    /// The numbers of the groups changed since the last commit.
    var changedGroups: Set<Int64> { Set(changes.lazy.map { $0.row >> Self.rowBits }) }

    private mutating func put(_ tag: ItemTag?, _ row: Int64) -> ItemTag? {
        let former = Self.put(tag, row, in: &groups[row >> Self.rowBits, default: Group()])
        if let former { names.remove(row, former.name) }
        if let tag { names.insert(row, tag.name) }
        count += (tag == nil ? 0 : 1) - (former == nil ? 0 : 1)
        return former
    }

    /// Static: a mutating method would hold `groups` meanwhile, and each change would copy all of them.
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

    /// The contribution of a group to the set's digest, as last recorded.
    func contribution(of number: Int64) -> SIMD4<UInt64>? { groups[number]?.contribution }

    /// The contributions of the groups in a range, as last recorded.
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

    /// A group in its recorded form; nil if it has no rows.
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

    /// Reads a recorded group, with its computed contribution.
    ///
    /// - Returns: false if it is malformed.
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
