internal import KeychainModel

/// A digest over the set of items that grows and shrinks with it: the sum, modulo 2^256, of a keyed digest of each
/// group of rows' tags (``ItemTags``).
///
/// Kept sealed in the file and changed in the same transaction as the rows and their tags, so that a row which was
/// removed, doubled or put back from an older file shows, and a group of tags that was put back with it.
struct ItemSetDigest: Equatable {
    /// What hardware's counter said when the store was last counted on; 0 without hardware.
    var generation: UInt64 = 0
    /// How many contributions it is the sum of.
    private(set) var count: UInt64 = 0
    private var words: SIMD4<UInt64> = .zero

    /// What one group contributes.
    static func contribution(
        group number: Int64,
        _ tags: UnsafeRawBufferPointer,
        key: KeyedDigest
    ) -> SIMD4<UInt64> {
        unsafe withUnsafeTemporaryAllocation(byteCount: 9 + tags.count, alignment: 8) { octets in
            // Another first byte than that of a row's own digest.
            unsafe octets[0] = 2
            unsafe octets.storeBytes(of: number.bigEndian, toByteOffset: 1, as: Int64.self)
            unsafe UnsafeMutableRawBufferPointer(rebasing: octets[9...]).copyMemory(from: tags)
            return unsafe key.words(of: UnsafeRawBufferPointer(octets))
        }
    }

    /// Whether both are of the same items, whatever their generations.
    func hasItems(of other: ItemSetDigest) -> Bool { count == other.count && words == other.words }

    mutating func insert(_ contribution: SIMD4<UInt64>) {
        count &+= 1
        words = Self.sum(words, contribution)
    }

    mutating func remove(_ contribution: SIMD4<UInt64>) {
        count &-= 1
        // Minus x is the complement of x, plus one.
        words = Self.sum(Self.sum(words, ~contribution), SIMD4(1, 0, 0, 0))
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

    // MARK: Sealed form

    /// The record's format is the file's (``ItemSchema/version``).
    private static func context(_ storeID: [UInt8], _ version: Int) -> [UInt8] {
        Array("touchstone \(version) item set ".utf8) + storeID
    }

    func sealed(with key: AEADKey, storeID: [UInt8]) -> [UInt8] {
        let numbers = [generation, count, words[0], words[1], words[2], words[3]].map { $0.littleEndian }
        return unsafe numbers.withUnsafeBytes {
            unsafe AEAD.seal(
                $0,
                with: key,
                authenticating: Self.context(storeID, ItemSchema.version)
            )
        }
    }

    init() {}

    /// Opens a sealed digest; nil when it is not authentic.
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
        guard let numbers, numbers.count == 6 else { return nil }
        generation = numbers[0]
        count = numbers[1]
        words = SIMD4(numbers[2], numbers[3], numbers[4], numbers[5])
    }
}

/// The set as the last commit left it, in memory.
struct ItemSetState {
    /// Nil before the first unlock, or when the recorded one is damaged: then nothing says which rows are the newest,
    /// and none is read.
    var digest: ItemSetDigest?
    var tags = ItemTags()

    /// The generation as the last commit left it.
    var generation: UInt64? { digest?.generation }
}

/// How far the items were looked through in the background.
struct ItemSetSweep {
    /// The last row that was looked at.
    var row = Int64.min
    var report = ItemStore.unknown
}
