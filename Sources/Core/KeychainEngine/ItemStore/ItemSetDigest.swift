internal import KeychainModel
internal import Primitives

/// A sum modulo 2^256 of keyed digests of groups of tags (``ItemTags``), updated as groups are added and removed.
struct ItemSetSum: Equatable {
    /// The number of contributions in the sum.
    fileprivate(set) var count: UInt64 = 0
    fileprivate var words: SIMD4<UInt64> = .zero

    mutating func insert(_ contribution: SIMD4<UInt64>) {
        count &+= 1
        words = Self.sum(words, contribution)
    }

    mutating func remove(_ contribution: SIMD4<UInt64>) {
        count &-= 1
        // -x is the complement of x, plus one.
        words = Self.sum(Self.sum(words, ~contribution), SIMD4(1, 0, 0, 0))
    }

    fileprivate mutating func insert(_ other: ItemSetSum) {
        count &+= other.count
        words = Self.sum(words, other.words)
    }

    private static func sum(_ one: SIMD4<UInt64>, _ other: SIMD4<UInt64>) -> SIMD4<UInt64> {
        var result = SIMD4<UInt64>.zero
        var carry: UInt64 = 0
        for index in 0..<4 {
            let (partial, firstCarry) = one[index].addingReportingOverflow(other[index])
            let (total, secondCarry) = partial.addingReportingOverflow(carry)
            result[index] = total
            carry = firstCarry || secondCarry ? 1 : 0
        }
        return result
    }
}

/// The digests over the set of items: one for each section, which is a range of neighbouring groups of tags.
///
/// Kept sealed in the file and changed in the same transaction as the rows and their tags, so that a row which was
/// removed, duplicated or restored from an older file is detected, and so is a group of tags restored with it. It is the
/// root of a tree: a section is verified by reading that section alone.
struct ItemSetDigest: Equatable {
    /// The most groups of a section: 65,536 rows, whose tags take 10 ms of CPU time to read (release, AMD64).
    ///
    /// A store of one section is read completely at the first unlock; of a larger one, a section is read when it is
    /// needed. Each section takes 48 bytes of the sealed record.
    static let mostGroups = 4096

    struct Section: Equatable {
        /// The least group number of the section; it ends before the next section's.
        fileprivate(set) var first: Int64
        fileprivate(set) var sum = ItemSetSum()
    }

    /// The hardware counter's value when the store was last counted; 0 without hardware.
    var generation: UInt64 = 0
    /// The revision of the keybag that the items noted last, so that an older keybag is refused; 0 before any had a seal
    /// (``StoredKeybag``).
    var keybag: UInt64 = 0
    /// The sections in order; at least one, and the first begins before any group.
    private(set) var sections = [Section(first: .min)]

    init() {}

    /// The contribution of one group.
    static func contribution(
        group number: Int64,
        _ tags: UnsafeRawBufferPointer,
        key: KeyedDigest
    ) -> SIMD4<UInt64> {
        unsafe withUnsafeTemporaryAllocation(byteCount: 9 + tags.count, alignment: 8) { octets in
            // A different first byte from that of a row's own digest.
            unsafe octets[0] = 2
            unsafe octets.storeBytes(of: number.bigEndian, toByteOffset: 1, as: Int64.self)
            unsafe UnsafeMutableRawBufferPointer(rebasing: octets[9...]).copyMemory(from: tags)
            return unsafe key.words(of: UnsafeRawBufferPointer(octets))
        }
    }

    // MARK: Sections

    /// The index of the section that contains a group.
    func section(of group: Int64) -> Int {
        // Search from the end, where new rows are.
        sections.lastIndex { $0.first <= group } ?? 0
    }

    /// The group numbers of a section.
    func groups(ofSection place: Int) -> Range<Int64> {
        sections[place].first..<(place + 1 < sections.count ? sections[place + 1].first : .max)
    }

    mutating func insert(_ contribution: SIMD4<UInt64>, group: Int64) {
        sections[section(of: group)].sum.insert(contribution)
    }

    mutating func remove(_ contribution: SIMD4<UInt64>, group: Int64) {
        sections[section(of: group)].sum.remove(contribution)
    }

    /// Joins neighbouring sections that together fill at most half a section, and splits those with more than `most`
    /// groups.
    ///
    /// `contributions` returns the contributions of the groups in a range, in order.
    mutating func balance(
        most: Int,
        contributions: (Range<Int64>) -> [(number: Int64, contribution: SIMD4<UInt64>)]
    ) {
        var place = 0
        while place + 1 < sections.count {
            let (one, other) = (sections[place].sum, sections[place + 1].sum)
            if one.count == 0 || other.count == 0 || one.count &+ other.count <= UInt64(most / 2) {
                sections[place].sum.insert(other)
                sections.remove(at: place + 1)
            } else {
                place += 1
            }
        }
        while let place = sections.firstIndex(where: { $0.sum.count > UInt64(most) }) {
            let all = contributions(groups(ofSection: place))
            guard all.count == sections[place].sum.count else { return }
            // New rows come last, so the sections before them stay full.
            let parts = stride(from: 0, to: all.count, by: most).map { start in
                var part = Section(first: start == 0 ? sections[place].first : all[start].number)
                for group in all[start..<min(start + most, all.count)] { part.sum.insert(group.contribution) }
                return part
            }
            sections.replaceSubrange(place...place, with: parts)
        }
    }

    // MARK: Sealed form

    /// The record's format is the file format (``ItemSchema/version``).
    static func context(_ storeID: [UInt8], _ version: Int) -> [UInt8] {
        Array("touchstone \(version) item set ".utf8) + storeID
    }

    /// Six numbers for each section: its first group, its number of groups, and its sum.
    ///
    /// The first section has the generation in place of its first group. The keybag's revision follows, unless it is 0.
    func sealed(
        with key: AEADKey,
        storeID: [UInt8],
        version: Int = ItemSchema.version
    ) -> [UInt8] {
        var numbers: [UInt64] = []
        numbers.reserveCapacity(6 * sections.count + 1)
        for (place, section) in sections.enumerated() {
            let words = section.sum.words
            numbers.append(place == 0 ? generation : UInt64(bitPattern: section.first))
            numbers += [section.sum.count, words[0], words[1], words[2], words[3]]
        }
        if keybag > 0 { numbers.append(keybag) }
        for place in numbers.indices { numbers[place] = numbers[place].littleEndian }
        return unsafe numbers.withUnsafeBytes {
            unsafe AEAD.seal($0, with: key, authenticating: Self.context(storeID, version))
        }
    }

    /// Opens a sealed digest; nil if it is not authentic.
    init?(
        opening sealed: [UInt8],
        with key: AEADKey,
        storeID: [UInt8],
        version: Int = ItemSchema.version
    ) {
        let context = Self.context(storeID, version)
        let numbers = try? unsafe AEAD.open(sealed, with: key, authenticating: context) { octets in
            stride(from: 0, to: octets.count - 7, by: 8).map { offset in
                unsafe UInt64(littleEndian: octets.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
        }
        guard var numbers else { return nil }
        if numbers.count % 6 == 1 { keybag = numbers.removeLast() }
        guard !numbers.isEmpty, numbers.count % 6 == 0,
            numbers.count == 6 || version >= ItemSchema.sectionsVersion
        else { return nil }
        generation = numbers[0]
        sections = stride(from: 0, to: numbers.count, by: 6).map { start in
            var section = Section(first: start == 0 ? .min : Int64(bitPattern: numbers[start]))
            section.sum.count = numbers[start + 1]
            section.sum.words = SIMD4(
                numbers[start + 2],
                numbers[start + 3],
                numbers[start + 4],
                numbers[start + 5]
            )
            return section
        }
        let isOrdered = zip(sections, sections.dropFirst()).allSatisfy { $0.first < $1.first }
        guard isOrdered, sections[sections.count - 1].first < .max else { return nil }
    }
}

/// The set in memory, as of the last commit.
struct ItemSetState {
    /// Nil before the first unlock, or if the recorded digest is damaged: then no row can be proved current, and none is
    /// read.
    var digest: ItemSetDigest?
    /// The tags of the sections read so far.
    var tags = ItemTags()
    /// The indexes of the digest's sections whose tags are unread; while there are any, no tag changes.
    var unread: Set<Int> = []

    /// Whether all tags were read, so that they determine which rows exist.
    var isWhole: Bool { unread.isEmpty }

    /// The generation as of the last commit.
    var generation: UInt64? { digest?.generation }
}

/// The progress of the background sweep over the items.
struct ItemSetSweep {
    /// The last row that was checked.
    var row = Int64.min
    var report = ItemStore.unknown
}
