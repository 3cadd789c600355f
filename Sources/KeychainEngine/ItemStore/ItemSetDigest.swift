internal import Crypto
internal import Foundation
internal import KeychainModel

/// A digest over the set of items that grows and shrinks with it: the sum, modulo 2^256, of a keyed digest of
/// each item's reference, generation and attributes.
///
/// Kept sealed in the file and changed in the same transaction as the rows, so that a row which was removed,
/// doubled or put back from an older file shows.
struct ItemSetDigest: Equatable {
    private(set) var count: UInt64 = 0
    private var words: SIMD4<UInt64> = .zero

    /// What one item contributes.
    static func contribution(
        reference: UnsafeRawBufferPointer,
        generation: UInt64,
        attributes: UnsafeRawBufferPointer,
        key: SymmetricKey
    ) -> SIMD4<UInt64> {
        var code = HMAC<SHA256>(key: key)
        unsafe code.update(data: reference)
        unsafe withUnsafeBytes(of: generation.bigEndian) { unsafe code.update(data: $0) }
        // The tag stands for all of the sealed attributes.
        let tag = unsafe attributes.suffix(AEAD.tagByteCount)
        unsafe code.update(data: UnsafeRawBufferPointer(rebasing: tag))
        return unsafe code.finalize().withUnsafeBytes { unsafe $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

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

    func sealed(with key: Key, storeID: [UInt8]) -> Data {
        let numbers = [count, words[0], words[1], words[2], words[3]].map { $0.littleEndian }
        return unsafe numbers.withUnsafeBytes {
            unsafe AEAD.seal($0, with: key.symmetric, authenticating: Self.context(storeID))
        }
    }

    init() {}

    /// Opens a sealed digest; nil when it is not authentic.
    init?(opening sealed: Data, with key: Key, storeID: [UInt8]) {
        let context = Self.context(storeID)
        let numbers = try? unsafe AEAD.open(sealed, with: key.symmetric, authenticating: context) { octets in
            stride(from: 0, to: octets.count - 7, by: 8).map { offset in
                unsafe UInt64(littleEndian: octets.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
        }
        guard let numbers, numbers.count == 5 else { return nil }
        count = numbers[0]
        words = SIMD4(numbers[1], numbers[2], numbers[3], numbers[4])
    }
}
