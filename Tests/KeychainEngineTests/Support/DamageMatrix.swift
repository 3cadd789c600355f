import Foundation
import KeychainModel
import TouchstoneTesting

@testable import KeychainEngine

/// A kind of damage to a file.
enum Damage: String, CaseIterable {
    case bit, byte
    /// 36 zeros: a header and a page number.
    case run
    case sectorOfZeros, sectorGarbled, sectorSwapped
    case pageOfZeros, pageGarbled, pageSwapped

    /// How many bytes it hits.
    var byteCount: Int {
        switch self {
        case .bit, .byte: 1
        case .run: 36
        case .sectorOfZeros, .sectorGarbled, .sectorSwapped: 512
        case .pageOfZeros, .pageGarbled, .pageSwapped: 4096
        }
    }

    /// Damages a file.
    ///
    /// - Returns: the damaged bytes' places.
    func apply(to octets: inout [UInt8], at place: Int, using coins: inout SplitMix64) -> [Range<Int>] {
        let range = place..<min(octets.count, place + byteCount)
        switch self {
        case .bit: octets[place] ^= 1 << UInt8.random(in: 0..<8, using: &coins)
        case .byte: octets[place] ^= UInt8.random(in: 1...255, using: &coins)
        case .run, .sectorOfZeros, .pageOfZeros:
            octets.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
        case .sectorGarbled, .pageGarbled:
            for index in range { octets[index] = UInt8.random(in: 0...255, using: &coins) }
        case .sectorSwapped, .pageSwapped:
            let count = octets.count / byteCount
            guard count > 1, range.count == byteCount else { return [] }
            let other = Int.random(in: 0..<count, using: &coins) * byteCount
            guard other != place else { return [] }
            let (one, two) = (Array(octets[range]), Array(octets[other..<(other + byteCount)]))
            octets.replaceSubrange(range, with: two)
            octets.replaceSubrange(other..<(other + byteCount), with: one)
            return [range, other..<(other + byteCount)]
        }
        return [range]
    }
}

/// The files of a store, and where each of its rows is.
struct StoreImage {
    static let main = "items.sqlite"
    static let log = "items.sqlite-wal"
    static let mark = "items.sqlite-mark"

    var files: [String: [UInt8]] = [:]

    init(of keychain: TestKeychain) throws {
        for name in [Self.main, Self.log, Self.mark] { files[name] = try? keychain.octets(name) }
    }

    func write(to keychain: TestKeychain) throws {
        let manager = FileManager.default
        let former = try manager.contentsOfDirectory(atPath: keychain.path)
        for name in former where name.hasPrefix("items.sqlite") {
            try manager.removeItem(atPath: keychain.file(name))
        }
        for (name, octets) in files { try keychain.put(octets, as: name) }
    }

    // MARK: Where the rows are

    /// A page of the store as SQLite reads it: a part of the file or of the log.
    struct Page: Hashable {
        let name: String
        let range: Range<Int>
    }

    /// The newest version of each page.
    var pages: [Page] {
        var pages: [Int: Page] = [:]
        let page = ItemSchema.pageByteCount
        for number in 0..<((files[Self.main]?.count ?? 0) / page) {
            pages[number + 1] = Page(name: Self.main, range: (number * page)..<((number + 1) * page))
        }
        if let log = files[Self.log], let mark = LogMark(files[Self.mark] ?? []) {
            for start in stride(from: 32, to: mark.end, by: 24 + page) {
                let number = log[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
                pages[number] = Page(name: Self.log, range: start..<(start + 24 + page))
            }
        }
        return Array(pages.values)
    }

    /// For each row, the pages with a part of it.
    ///
    /// `blobs` are the rows' columns. Found by their content, not by the structure of the file.
    func places(of blobs: [[[UInt8]]]) -> [Set<Page>] {
        var owner: [SIMD16<UInt8>: Int] = [:]
        for (row, columns) in blobs.enumerated() {
            for column in columns {
                for start in stride(from: 0, through: column.count - 16, by: 16) {
                    owner[SIMD16(column[start..<(start + 16)])] = row
                }
            }
        }
        var places = [Set<Page>](repeating: [], count: blobs.count)
        for page in pages {
            guard let octets = files[page.name] else { continue }
            for start in page.range.lowerBound...(page.range.upperBound - 16) {
                if let row = owner[SIMD16(octets[start..<(start + 16)])] { places[row].insert(page) }
            }
        }
        return places
    }
}
