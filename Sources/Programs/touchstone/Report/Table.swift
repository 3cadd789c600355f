/// Lines of columns, as wide as they have to be.
struct Table {
    private var rows: [[String]]

    /// Starts with a line of headings.
    init(headings: [String]) { rows = [headings] }

    /// Adds a line; control characters are shown, not sent.
    mutating func append(_ cells: [String]) { rows.append(cells.map(Printable.text)) }

    /// The lines, the last column unpadded; where a terminal is too narrow for them, each row as lines of its own.
    func lines(width: Int? = Columns.ofTerminal) -> [String] {
        let lines = aligned()
        guard let width, lines.contains(where: { DisplayWidth.of($0) > width }) else { return lines }
        return stacked(width)
    }

    /// Each row as its first cell, with the others below it by their headings.
    private func stacked(_ width: Int) -> [String] {
        guard let headings = rows.first else { return [] }
        let longest = headings.dropFirst().map(DisplayWidth.of).max() ?? 0
        return rows.dropFirst().flatMap { row in
            Columns.lines("", row.first ?? "", width: width)
                + zip(headings, row).dropFirst().flatMap { heading, cell in
                    let padding = String(repeating: " ", count: longest - DisplayWidth.of(heading))
                    return Columns.lines("  \(heading)\(padding)  ", cell, width: width)
                }
        }
    }

    private func aligned() -> [String] {
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
