import Glibc

/// Collects rows, reports each as it is added, and formats all of them at the end.
struct Table {
    private(set) var rows: [Row] = []

    /// Adds a row.
    mutating func add(_ row: Row) {
        rows.append(row)
        Self.note("  " + row.cells.filter { !$0.isEmpty }.joined(separator: "  "))
    }

    /// Adds a row for a measurement that failed.
    mutating func add(_ name: String, failed error: any Error) {
        hasFailures = true
        add(Row(name, notMeasured: "\(error)"))
    }

    /// Whether a measurement failed.
    private(set) var hasFailures = false

    /// Whether all bounds hold.
    var isWithinBounds: Bool { rows.allSatisfy { $0.isKept != false } }

    /// All rows, in columns.
    var text: String {
        let lines = [["row", "ours", "beside", "ratio", "bound", ""]] + rows.map(\.cells)
        let widths = (0..<6).map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            let padded = zip(line, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            let text = padded.joined(separator: "  ")
            return String(text.reversed().drop { $0 == " " }.reversed())
        }
        .joined(separator: "\n")
    }

    /// Reports progress on standard error.
    static func note(_ text: String) {
        let octets = Array((text + "\n").utf8)
        _ = unsafe write(STDERR_FILENO, octets, octets.count)
    }
}
