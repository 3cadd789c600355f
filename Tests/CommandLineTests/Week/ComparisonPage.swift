import Foundation
import TouchstoneTesting

/// The tables of `docs/COMPARISON.md`: tasks, and what each tool has for them.
struct ComparisonPage {
    /// A row.
    struct Task {
        let name: String
        /// One for each tool, in the order of ``tools``.
        let cells: [String]

        /// The commands of the first tool, each a code span.
        var commands: [String] {
            cells[0].matches(of: /`([^`]+)`/).map { String($0.1).replacing("\\|", with: "|") }
        }
    }

    /// The headings of the tables, which are the same in all.
    let tools: [String]
    let tasks: [Task]

    /// Reads the page.
    init() throws {
        let url = Programs.sources.appending(path: "docs/COMPARISON.md")
        let rows = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| ") }.map(Self.cells)
        let headings = Set(rows.filter { $0[0] == "task" })
        guard let heading = headings.first, headings.count == 1 else {
            throw TestKitError.unexpected("the tables have other columns")
        }
        tools = Array(heading.dropFirst())
        tasks = rows.filter { $0[0] != "task" }.map { Task(name: $0[0], cells: Array($0.dropFirst())) }
    }

    /// The cells of a line; a bar after a backslash does not end one.
    private static func cells(_ line: Substring) -> [String] {
        var cells = [""]
        var isEscaped = false
        for character in line.dropFirst() {
            if character == "|", !isEscaped {
                cells.append("")
            } else {
                cells[cells.count - 1].append(character)
            }
            isEscaped = character == "\\"
        }
        return cells.dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
