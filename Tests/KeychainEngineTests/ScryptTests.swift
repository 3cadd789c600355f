import Foundation
import KeychainModel
import Primitives
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("scrypt yields the published values")
struct ScryptTests {
    struct Vectors: Decodable {
        struct Case: Decodable, CustomStringConvertible {
            let password: String
            let salt: String?
            let saltHex: String?
            let N: Int
            let r: Int
            let p: Int
            let dkLen: Int
            let hex: String
            var description: String { "N=\(N) r=\(r) p=\(p)" }
        }
        let cases: [Case]
    }

    /// Empty where the published vectors are missing.
    static let cases = (try? PublishedVectors.load(Vectors.self, from: "scrypt.json").cases) ?? []

    @Test(
        "scrypt matches each vector",
        .enabled(if: !cases.isEmpty, "the published vectors are not there"),
        arguments: cases
    )
    func vector(vector: Vectors.Case) throws {
        let cost = try #require(
            PasscodeDerivation.Cost(
                roundsExponent: vector.N.trailingZeroBitCount,
                blockSize: vector.r,
                parallelism: vector.p
            )
        )
        let salt = vector.saltHex.map { hex in
            stride(from: 0, to: hex.count, by: 2).compactMap { offset in
                UInt8(hex.dropFirst(offset).prefix(2), radix: 16)
            }
        }
        let derived = unsafe Array(vector.password.utf8).withUnsafeBytes { password in
            unsafe PasscodeDerivation.stretch(
                password,
                salt: salt ?? Array((vector.salt ?? "").utf8),
                cost: cost,
                count: vector.dkLen
            )
        }
        let hex = derived.withOctets { octets in
            octets.indices.map { index in
                let digits = String(octets[index], radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
        }
        #expect(hex == vector.hex)
    }

    @Test("cost parameters above the keybag's limits are refused")
    func bounds() {
        #expect(PasscodeDerivation.Cost(roundsExponent: 23, blockSize: 8, parallelism: 1) == nil)
        #expect(PasscodeDerivation.Cost(roundsExponent: 17, blockSize: 33, parallelism: 1) == nil)
        #expect(PasscodeDerivation.Cost(roundsExponent: 17, blockSize: 8, parallelism: 17) == nil)
        #expect(PasscodeDerivation.Cost(roundsExponent: 22, blockSize: 32, parallelism: 1) == nil, "4 GiB")
        #expect(PasscodeDerivation.Cost(roundsExponent: 0, blockSize: 8, parallelism: 1) == nil)
    }
}

@Suite("The digest over all items")
struct ItemSetDigestTests {
    @Test("insertion order does not matter, and removal undoes insertion")
    func algebra() {
        let items = (0..<64).map { _ in
            SIMD4<UInt64>(.random(in: 0...(.max)), .random(in: 0...(.max)), .random(in: 0...(.max)), .max)
        }
        var one = ItemSetSum()
        for item in items { one.insert(item) }
        var other = ItemSetSum()
        for item in items.reversed() { other.insert(item) }
        #expect(one == other)
        for item in items.shuffled() { one.remove(item) }
        #expect(one == ItemSetSum())
    }

    @Test("a sealed digest opens only with its key and its store ID")
    func sealed() {
        let key = Key.random().symmetric
        let storeID = RandomBytes.array(count: 16)
        var digest = ItemSetDigest()
        digest.insert(SIMD4(1, 2, 3, 4), group: 0)
        let sealed = digest.sealed(with: key, storeID: storeID)
        #expect(ItemSetDigest(opening: sealed, with: key, storeID: storeID) == digest)
        #expect(ItemSetDigest(opening: sealed, with: Key.random().symmetric, storeID: storeID) == nil)
        #expect(ItemSetDigest(opening: sealed, with: key, storeID: RandomBytes.array(count: 16)) == nil)
    }
}
