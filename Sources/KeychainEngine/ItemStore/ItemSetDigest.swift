internal import KeychainModel

/// A digest over the set of items that grows and shrinks with it: the sum, modulo 2^256, of a keyed digest of
/// each item's reference, generation and attributes.
///
/// Kept sealed in the file and changed in the same transaction as the rows, so that a row which was removed,
/// doubled or put back from an older file shows.
struct ItemSetDigest: Equatable {
    /// What hardware's counter said when the store was last counted on; 0 without hardware.
    var generation: UInt64 = 0
    private(set) var count: UInt64 = 0
    private var words: SIMD4<UInt64> = .zero

    /// What one item contributes.
    static func contribution(
        reference: UnsafeRawBufferPointer,
        generation: UInt64,
        attributes: UnsafeRawBufferPointer,
        key: KeyedDigest
    ) -> SIMD4<UInt64> {
        // The tag stands for all of the sealed attributes.
        let parts = PersistentReference.octetCount + 8 + AEAD.tagByteCount
        return unsafe withUnsafeTemporaryAllocation(byteCount: parts, alignment: 8) { octets in
            unsafe octets.copyMemory(from: UnsafeRawBufferPointer(rebasing: reference.prefix(16)))
            unsafe octets.storeBytes(of: generation.bigEndian, toByteOffset: 16, as: UInt64.self)
            let tag = unsafe UnsafeRawBufferPointer(rebasing: attributes.suffix(AEAD.tagByteCount))
            unsafe UnsafeMutableRawBufferPointer(rebasing: octets[24...]).copyMemory(from: tag)
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

    private static func context(_ storeID: [UInt8]) -> [UInt8] {
        Array("touchstone 1 item set ".utf8) + storeID
    }

    func sealed(with key: AEADKey, storeID: [UInt8]) -> [UInt8] {
        let numbers = [generation, count, words[0], words[1], words[2], words[3]].map { $0.littleEndian }
        return unsafe numbers.withUnsafeBytes {
            unsafe AEAD.seal($0, with: key, authenticating: Self.context(storeID))
        }
    }

    init() {}

    /// Opens a sealed digest; nil when it is not authentic.
    init?(opening sealed: [UInt8], with key: AEADKey, storeID: [UInt8]) {
        let context = Self.context(storeID)
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

/// The set's digest as it is in memory, and how far the rows were compared with it.
///
/// A value, so that a commit that fails puts back all of it.
struct ItemSetState {
    /// As the last commit left it; nil before the first unlock, or when the recorded one is damaged.
    private(set) var digest: ItemSetDigest?
    /// Nil when there is nothing more to look at.
    var sweep: ItemSetSweep?

    init(_ digest: ItemSetDigest? = nil, sweep: ItemSetSweep? = nil) {
        self.digest = digest
        self.sweep = sweep
    }

    /// The generation as the last commit left it.
    var generation: UInt64? {
        get { digest?.generation }
        set { if let newValue { digest?.generation = newValue } }
    }

    var isSweepDue: Bool { sweep != nil }

    mutating func endSweep() {
        sweep = nil
    }

    mutating func insert(_ contribution: SIMD4<UInt64>, row: Int64) {
        digest?.insert(contribution)
        // What comes later is looked at then.
        if let sweep, row <= sweep.row { self.sweep?.found.insert(contribution) }
    }

    mutating func remove(_ contribution: SIMD4<UInt64>, row: Int64) {
        digest?.remove(contribution)
        if let sweep, row <= sweep.row { self.sweep?.found.remove(contribution) }
    }
}

/// What looking through the items has found so far.
struct ItemSetSweep {
    /// The last row that was looked at.
    var row = Int64.min
    var found = ItemSetDigest()
    var report = ItemStore.unknown
}
