/// The rows of a CSV export (RFC 4180) with a header, whose cells are places.
struct ExportCSV {
    /// The names of the columns, from the first row.
    let header: [String]
    /// The rows below it, each with a cell for each column.
    let rows: [[ExportText]]

    /// Parses a document; a row of blanks is skipped.
    init(_ document: ExportDocument) throws(ExportFault) {
        var reader = ExportCSVReader(document)
        guard let first = try reader.readRow() else { throw ExportFault("it has no header") }
        let header = first.map { document.string($0) }
        guard Set(header).count == header.count else { throw ExportFault("its header names a column twice") }
        var rows: [[ExportText]] = []
        while let row = try reader.readRow() {
            if row.count == 1, document.isEmpty(row[0]) { continue }
            guard row.count == header.count else {
                throw ExportFault(
                    "a row has \(row.count) cells, and the header \(header.count)",
                    at: row[0].place.lowerBound
                )
            }
            rows.append(row)
            guard rows.count <= ExportLimits.mostEntries else {
                throw ExportFault("it has more than \(ExportLimits.mostEntries) entries, the limit")
            }
        }
        (self.header, self.rows) = (header, rows)
    }

    /// The header alone, to recognise a format; empty if there is none.
    static func header(of document: ExportDocument) -> [String] {
        var reader = ExportCSVReader(document)
        guard let row = try? reader.readRow() else { return [] }
        return row.map { document.string($0) }
    }
}

private struct ExportCSVReader {
    private let document: ExportDocument
    private var index: Int
    private var cells = 0

    init(_ document: ExportDocument) {
        self.document = document
        index = document.start
    }

    private var next: UInt8? { index < document.count ? document[index] : nil }

    /// The next row; nil at the end.
    mutating func readRow() throws(ExportFault) -> [ExportText]? {
        guard index < document.count else { return nil }
        var row: [ExportText] = []
        while true {
            cells += 1
            guard cells <= ExportLimits.mostValues else {
                throw ExportFault("it has more than \(ExportLimits.mostValues) cells, the limit", at: index)
            }
            row.append(next == UInt8(ascii: "\"") ? try readQuoted() : try readPlain())
            switch next {
            case UInt8(ascii: ","): index += 1
            case UInt8(ascii: "\r"):
                index += next(after: 1) == UInt8(ascii: "\n") ? 2 : 1
                return row
            case UInt8(ascii: "\n"):
                index += 1
                return row
            case nil: return row
            default: throw ExportFault("something follows a quoted cell", at: index)
            }
        }
    }

    private func next(after distance: Int) -> UInt8? {
        index + distance < document.count ? document[index + distance] : nil
    }

    private mutating func readPlain() throws(ExportFault) -> ExportText {
        let start = index
        while let octet = next, ![UInt8(ascii: ","), 0x0A, 0x0D].contains(octet) {
            guard octet != UInt8(ascii: "\"") else {
                throw ExportFault("a quote is inside a cell that is not quoted", at: index)
            }
            index += 1
        }
        return ExportText(place: start..<index, form: .plain)
    }

    private mutating func readQuoted() throws(ExportFault) -> ExportText {
        let opening = index
        index += 1
        while let octet = next {
            index += 1
            guard octet == UInt8(ascii: "\"") else { continue }
            guard next == UInt8(ascii: "\"") else {
                return ExportText(place: (opening + 1)..<(index - 1), form: .csv)
            }
            index += 1
        }
        throw ExportFault("a quoted cell does not end", at: opening)
    }
}
