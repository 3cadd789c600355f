/// Lines of columns, as wide as they have to be.
struct Table {
    private var rows: [[String]]

    /// Starts with a line of headings.
    init(headings: [String]) { rows = [headings] }

    /// Adds a line; control characters are shown, not sent.
    mutating func append(_ cells: [String]) { rows.append(cells.map(Printable.text)) }

    /// The lines, the last column unpadded.
    func lines() -> [String] {
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], DisplayWidth.of(cell))
            }
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let isLast = column == row.count - 1
                return isLast
                    ? cell : cell + String(repeating: " ", count: widths[column] - DisplayWidth.of(cell))
            }.joined(separator: "  ")
        }
    }
}
