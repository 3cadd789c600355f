/// A table with columns as wide as their content.
struct Table {
    private var rows: [[String]]

    /// Creates a table with a heading row.
    init(headings: [String]) { rows = [headings] }

    /// Adds a row; control characters are escaped.
    mutating func append(_ cells: [String]) { rows.append(cells.map(Printable.text)) }

    /// The lines, the last column unpadded; if the terminal is too narrow, each row becomes several lines.
    func lines(width: Int? = Columns.ofTerminal) -> [String] {
        let lines = aligned()
        guard let width, lines.contains(where: { DisplayWidth.of($0) > width }) else { return lines }
        return stacked(width)
    }

    /// Each row as its first cell, with the other cells below it, after their headings.
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
