/// A leaf page of a table, read without the rest of the file (sqlite.org/fileformat2, sections 1.6 and 2.1).
///
/// Any bytes yield some rows or none: what they hold is for the seals to decide.
enum TableLeaf {
    /// A row on the page.
    struct Cell {
        let row: Int64
        /// The length of the record in bytes.
        let payloadByteCount: Int
        /// The part of the record on the page.
        let local: Range<Int>
        /// The first of the pages with the rest of it; 0 if there is none.
        let overflow: UInt32
    }

    /// The first byte of such a page.
    private static let kind: UInt8 = 13
    private static let headerByteCount = 8

    /// The rows of a page; none if it is another kind of page.
    static func cells(of page: [UInt8]) -> [Cell] {
        guard page.count > headerByteCount, page[0] == kind else { return [] }
        let count = Int(page[3]) << 8 | Int(page[4])
        return (0..<count).compactMap { index in
            let pointer = headerByteCount + 2 * index
            guard pointer + 2 <= page.count else { return nil }
            return cell(of: page, at: Int(page[pointer]) << 8 | Int(page[pointer + 1]))
        }
    }

    private static func cell(of page: [UInt8], at start: Int) -> Cell? {
        var place = start
        guard let length = variableNumber(page, &place).flatMap({ Int(exactly: $0) }), length > 0,
            let row = variableNumber(page, &place)
        else { return nil }
        // The names of the specification: U bytes on a page, X at most in a leaf, M at least, P in all.
        let usable = page.count
        let most = usable - 35
        let least = (usable - 12) * 32 / 255 - 23
        var local = length
        if length > most {
            let fitting = least + (length - least) % (usable - 4)
            local = fitting <= most ? fitting : least
        }
        guard place + local + (length > local ? 4 : 0) <= page.count else { return nil }
        let range = place..<(place + local)
        let overflow = length > local ? number(page, range.upperBound) : 0
        return Cell(row: row, payloadByteCount: length, local: range, overflow: overflow)
    }

    /// A big-endian number of four bytes.
    static func number(_ octets: [UInt8], _ place: Int) -> UInt32 {
        octets[place..<(place + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A number of one to nine bytes, seven bits each; the ninth has eight.
    private static func variableNumber(_ octets: [UInt8], _ place: inout Int) -> Int64? {
        var number: UInt64 = 0
        for index in 0..<9 {
            guard place < octets.count else { return nil }
            let octet = octets[place]
            place += 1
            if index == 8 { return Int64(bitPattern: number << 8 | UInt64(octet)) }
            number = number << 7 | UInt64(octet & 0x7F)
            if octet & 0x80 == 0 { break }
        }
        return Int64(bitPattern: number)
    }

    // MARK: Records

    /// The lengths of a record's columns in bytes, nil for NULL, and where the first begins; nil if a column is neither
    /// NULL nor a BLOB, or if the header is not on the page.
    static func columns(of record: [UInt8]) -> (byteCounts: [Int?], start: Int)? {
        var place = 0
        guard let end = variableNumber(record, &place).flatMap({ Int(exactly: $0) }), end <= record.count
        else { return nil }
        var counts: [Int?] = []
        while place < end {
            guard let type = variableNumber(record, &place).flatMap({ Int(exactly: $0) }) else { return nil }
            switch type {
            case 0: counts.append(nil)
            case 12... where type % 2 == 0: counts.append((type - 12) / 2)
            default: return nil
            }
        }
        return place == end ? (counts, end) : nil
    }

    /// The columns of a whole record; nil if it is malformed.
    static func values(of record: [UInt8]) -> [[UInt8]?]? {
        guard let (counts, start) = columns(of: record) else { return nil }
        var place = start
        var values: [[UInt8]?] = []
        for count in counts {
            guard let count else {
                values.append(nil)
                continue
            }
            guard count <= record.count - place else { return nil }
            values.append(Array(record[place..<(place + count)]))
            place += count
        }
        return place == record.count ? values : nil
    }
}
