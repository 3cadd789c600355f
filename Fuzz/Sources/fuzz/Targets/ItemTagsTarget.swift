import Primitives
import SecretMemory

@testable import KeychainEngine

/// The recorded tags of all rows, in groups, and the sealed digest over them.
///
/// The input is a sealed digest, and a sequence of choices: repeatedly the number of a group and its bytes.
enum ItemTagsTarget: FuzzTarget {
    static let name = "item-tags"
    private static let storeID = octets(16)
    private static let key = Key(SecretBytes(copying: octets(32)))
    private static let recordKey = key.symmetric
    private static let digestKey = KeyedDigest(key)

    static func run(_ input: Span<UInt8>) {
        let opened = ItemSetDigest(opening: input.array, with: recordKey, storeID: storeID)
        if let opened {
            require(opened.sealed(with: recordKey, storeID: storeID).count == input.count, "one form")
            for place in opened.sections.indices {
                let groups = opened.groups(ofSection: place)
                require(opened.section(of: groups.lowerBound) == place, "each group is in one section")
                require(opened.section(of: groups.upperBound - 1) == place, "each group is in one section")
            }
        }
        var choices = Choices(input)
        var tags = ItemTags()
        var sum = ItemSetSum()
        var taken: [Int64: [UInt8]] = [:]
        while !choices.isAtEnd {
            let number = Int64(bitPattern: choices.number())
            let octets = choices.octetString() + choices.octetString()
            let contribution = contribution(number, octets)
            let isTaken = unsafe octets.withUnsafeBytes {
                unsafe tags.take($0, number: number, contribution: contribution)
            }
            guard isTaken else { break }
            require(taken.updateValue(octets, forKey: number) == nil, "a group is taken once")
            sum.insert(contribution)
        }
        check(&tags, taken)
        // A change that was rolled back leaves no trace.
        let rows = tags.rows
        for row in rows.prefix(40) { tags.set(nil, row: row) }
        if let first = rows.first, let last = rows.last { tags.set(tags[last], row: first) }
        tags.rollBack()
        check(&tags, taken)
        for (number, octets) in taken { sum.remove(contribution(number, octets)) }
        require(sum == ItemSetSum(), "what was inserted and removed is nothing")
    }

    private static func check(_ tags: inout ItemTags, _ taken: [Int64: [UInt8]]) {
        require(tags.rows.count == tags.count, "each row is counted")
        require(tags.rows.allSatisfy { tags[$0] != nil }, "each row has its tag")
        require(tags.rows.max() ?? 0 == tags.last, "the last row is the last")
        for (number, octets) in taken { require(tags.encoded(number) == octets, "one encoding") }
    }

    private static func contribution(_ number: Int64, _ octets: [UInt8]) -> SIMD4<UInt64> {
        unsafe octets.withUnsafeBytes {
            unsafe ItemSetDigest.contribution(group: number, $0, key: digestKey)
        }
    }

    static func seeds() -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for count in 1...16 {
            seeds.append(input([(0, count)]))
            seeds.append(input([(Int64(count), count), (Int64(count) + 1, 17 - count)]))
        }
        seeds.append(input((0..<20).map { ($0 * 3, 16) }))
        // The highest possible number, one above it, a negative one, and one twice.
        for number in [Int64.max >> 4, Int64.max >> 4 + 1, -1] { seeds.append(input([(number, 3)])) }
        seeds.append(input([(5, 3), (5, 3)]))
        var digest = ItemSetDigest()
        for generation in [0, 7, UInt64.max] {
            digest.generation = generation
            digest.insert(contribution(1, octets(28)), group: 1)
            seeds.append(digest.sealed(with: recordKey, storeID: storeID))
        }
        // More than one section.
        let groups = (1...9).map { (number: Int64($0), contribution: contribution(Int64($0), octets(28))) }
        for group in groups.dropFirst() { digest.insert(group.contribution, group: group.number) }
        for most in [4, 2, 1] {
            digest.balance(most: most) { range in groups.filter { range.contains($0.number) } }
            seeds.append(digest.sealed(with: recordKey, storeID: storeID))
        }
        return seeds + damaged(seeds[9], most: 10) + damaged(seeds[31], most: 8)
    }

    /// Groups with the given numbers of rows.
    private static func input(_ groups: [(number: Int64, count: Int)]) -> [UInt8] {
        var writer = ChoiceWriter()
        for group in groups {
            var recorded = [UInt8(truncatingIfNeeded: (1 << group.count) - 1)]
            recorded += [UInt8(truncatingIfNeeded: ((1 << group.count) - 1) >> 8), 0, 0]
            recorded += octets(group.count * ItemTag.byteCount, from: UInt8(truncatingIfNeeded: group.number))
            writer.write(UInt64(bitPattern: group.number))
            writer.write(Array(recorded.prefix(255)))
            writer.write(Array(recorded.dropFirst(255)))
        }
        return writer.octets
    }
}
