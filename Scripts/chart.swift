// Draws the output of Scripts/benchmark as a picture for the README, light or dark by the reader's preference.
//
//   swift Scripts/chart.swift OUTPUT [PICTURE.svg]
//
// OUTPUT is a run's output, or any text with that table, such as Benchmarks/README.md. Without PICTURE the drawing goes to
// standard output. Rows that the run did not measure are left out and named on standard error, and the exit status is then 2; it
// is 1 if there is nothing to draw.

import Foundation

// MARK: The table

/// A measured row: figures in one unit (seconds, bytes, a rate or a count), and their text as printed.
struct Row {
    let ours: Double
    let other: Double
    let ourText: String
    let otherText: String
    /// The promised bound of our figure divided by the other; a minimum for rates.
    let bound: Double?
    let isOver: Bool
}

/// A figure as the benchmark prints it, such as "18.6 us".
func figure(_ text: Substring) -> Double? {
    let words = text.split(separator: " ")
    guard let number = words.first.flatMap({ Double($0) }) else { return nil }
    let units = ["us": 1e-6, "ms": 1e-3, "s": 1, "KB": 1024, "MB": 1_048_576, "/s": 1]
    return words.count == 1 ? number : units[String(words[1])].map { number * $0 }
}

/// The rows of the last table in a text by name, without those that have no comparison.
func table(in text: String) -> [String: Row] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard let header = lines.lastIndex(where: { $0.hasPrefix("row  ") && $0.hasSuffix("bound") }) else {
        return [:]
    }
    var rows: [String: Row] = [:]
    for line in lines[(header + 1)...] {
        if line.isEmpty || line.hasPrefix("```") { break }
        let cells = line.replacing(#/ {2,}/#, with: "\t").split(separator: "\t")
        guard cells.count >= 3, let ours = figure(cells[1]), let other = figure(cells[2]), other > 0 else {
            continue
        }
        let bound = cells.first { $0.hasPrefix("<= ") || $0.hasPrefix(">= ") }.flatMap {
            Double($0.dropFirst(3))
        }
        rows[String(cells[0])] = Row(
            ours: ours,
            other: other,
            ourText: String(cells[1]),
            otherText: String(cells[2].prefix { $0 != "(" }).trimmingCharacters(in: .whitespaces),
            bound: bound,
            isOver: cells.last == "OVER"
        )
    }
    return rows
}

// MARK: Contents

/// A bar: the row's name in the table, and its label in the picture.
struct Bar {
    let row: String
    let label: String
}

/// Bars on one scale, with a line of text above.
struct Panel {
    let title: String
    let note: String
    let bars: [Bar]
    /// The measure of a bar's length; from 0 to 1 if `scale` is 1.
    let value: (Row) -> Double
    /// The text behind a bar.
    let ratio: (Row) -> String
    /// The text at the right edge.
    let figures: (Row) -> String
    /// The same measure of the promised bound.
    let promise: (Row) -> Double?
    /// The positions of vertical lines, and their labels.
    let lines: [(value: Double, label: String)]
    /// The position of a value, from 0 to 1.
    let position: (Double) -> Double
}

func short(_ value: Double) -> String {
    value >= 100
        ? "\(Int(value.rounded()))"
        : String(format: value >= 10 ? "%.0f" : value >= 3 ? "%.1f" : "%.2f", value)
}

/// Formats 1234 as 1,234.
func grouped(_ value: Double) -> String {
    guard value >= 1000 else { return short(value) }
    let whole = Int(value.rounded())
    return "\(whole / 1000)," + String(format: "%03d", whole % 1000)
}

func micro(_ text: String) -> String { text.replacing(" us", with: " µs") }
func times(_ row: Row) -> String { micro("\(row.ourText) : \(row.otherText)") }

let beside = { (row: Row) in row.ours / row.other }
let faster = { (row: Row) in row.other / row.ours }
let decades = 4.5
let panels = [
    Panel(
        title: "Beside the least that could be done: C, the same durable work and nothing else",
        note: "time, as a multiple of it; less is better",
        bars: [
            Bar(row: "look-up, 10000 items", label: "look-up among 10,000 items"),
            Bar(row: "all 10000 items, attributes and secrets", label: "all 10,000 items"),
            Bar(row: "add, durable, 10000 items", label: "durable add"),
            Bar(row: "update, durable, 10000 items", label: "durable update"),
            Bar(row: "delete, durable, 10000 items", label: "durable delete"),
            Bar(row: "TPM seal and unseal", label: "TPM: seal and unseal"),
            Bar(row: "TPM signature", label: "TPM: signature"),
        ],
        value: beside,
        ratio: { short(beside($0)) + "×" },
        figures: times,
        promise: { $0.bound },
        lines: [(1, "1×"), (2, "2×"), (3, "3×")],
        position: { $0 / 3.2 }
    ),
    Panel(
        title: "Beside other keychains and tools",
        note: "how many times faster, each line ten times the one before; more is better",
        bars: [
            Bar(row: "one of 1000 SecItemAdd", label: "add, gnome-keyring"),
            Bar(
                row: "look-up beside gnome-keyring through libsecret, 10000 items",
                label: "look-up, gnome-keyring"
            ),
            Bar(row: "look-up beside KWallet, 10000 items", label: "look-up, KWallet"),
            Bar(
                row: "all 10000 items, attributes and secrets, beside KWallet",
                label: "all 10,000 items, KWallet"
            ),
            Bar(row: "touchstone get beside secret-tool lookup", label: "whole process, secret-tool"),
            Bar(row: "touchstone get beside systemd-creds decrypt", label: "whole process, systemd-creds"),
            Bar(
                row: "TPM seal and unseal beside tpm2-tools, 68 commands",
                label: "TPM: seal, unseal, tpm2-tools"
            ),
        ],
        value: faster,
        ratio: { grouped(faster($0)) + "×" },
        figures: times,
        promise: { $0.bound.map { 1 / $0 } },
        lines: [(1, "1×"), (10, "10×"), (100, "100×"), (1000, "1,000×"), (10000, "10,000×")],
        position: { max(0, log10(max($0, 1e-9)) + 0.3) / (decades + 0.3) }
    ),
    Panel(
        title: "Promised figures",
        note: "how much of what is promised is used; less is better",
        bars: [
            Bar(row: "touchstone get, whole process", label: "touchstone get, whole process"),
            Bar(row: "exec to first reply, 10000 items", label: "daemon's start to its first reply"),
            Bar(
                row: "passcode typed to first secret, after start, 10000 items",
                label: "passcode typed to first secret"
            ),
            Bar(row: "finger: request to VerifyStart, less 500 ms guard", label: "request to armed sensor"),
            Bar(row: "finger: match to secret in the client", label: "finger's match to the secret"),
            Bar(row: "resident memory, 10000 items", label: "resident memory, 10,000 items"),
        ],
        value: beside,
        ratio: { "\(Int((beside($0) * 100).rounded())) %" },
        figures: { micro("\($0.ourText) of \($0.otherText)") },
        promise: { $0.bound },
        lines: [(0.5, "50 %"), (1, "100 %")],
        position: { $0 / 1.5 }
    ),
]

// MARK: Drawing

let width = 840.0, left = 232.0, right = 640.0, edge = 816.0, rowHeight = 24.0, barHeight = 14.0
let style = """
      .paper { fill: #ffffff; stroke: #d0d7de }
      text { font: 13px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328 }
      .title { font-size: 15px; font-weight: 600 }
      .note, .scale, .figures { fill: #59636e }
      .scale { font-size: 11px; text-anchor: middle }
      .figures { font-size: 12px; text-anchor: end }
      .ratio { font-weight: 600; fill: #1f2328 }
      .label { text-anchor: end }
      .line { stroke: #d8dee4 }
      .kept { fill: #0f766e }
      .over { fill: #c2410c }
      .promise { stroke: #1f2328; stroke-width: 2 }
      @media (prefers-color-scheme: dark) {
        .paper { fill: #0d1117; stroke: #3d444d }
        text, .ratio { fill: #f0f6fc }
        .note, .scale, .figures { fill: #9198a1 }
        .line { stroke: #2a313c }
        .kept { fill: #2dd4bf }
        .over { fill: #fb923c }
        .promise { stroke: #f0f6fc }
      }
    """

func number(_ value: Double) -> String { String(format: "%.1f", value) }
func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
}
func element(_ name: String, _ x: Double, _ y: Double, _ text: String) -> String {
    "  <text class=\"\(name)\" x=\"\(number(x))\" y=\"\(number(y))\">\(text)</text>"
}

/// A panel's elements from `top` on, and its lower edge; nil if none of its rows was measured.
func draw(_ panel: Panel, _ rows: [String: Row], from top: Double) -> (elements: [String], end: Double) {
    let bars = panel.bars.compactMap { bar in rows[bar.row].map { (bar.label, $0) } }
    guard !bars.isEmpty else { return ([], top) }
    let place = { left + (right - left) * min(max(panel.position($0), 0), 1) }
    let first = top + 64
    let end = first + rowHeight * Double(bars.count)
    var elements = [
        element("title", 24, top + 18, escaped(panel.title)),
        element("note", 24, top + 38, escaped(panel.note)),
    ]
    for line in panel.lines {
        let x = number(place(line.value))
        elements.append("  <path class=\"line\" d=\"M\(x) \(number(first - 4))V\(number(end))\"/>")
        elements.append(element("scale", place(line.value), first - 8, line.label))
    }
    for (index, (label, row)) in bars.enumerated() {
        let y = first + rowHeight * Double(index)
        let length = max(place(panel.value(row)) - left, 2)
        let name = row.isOver ? "over" : "kept"
        elements.append(element("label", left - 10, y + 16, escaped(label)))
        elements.append(
            "  <rect class=\"\(name)\" x=\"\(number(left))\" y=\"\(number(y + 5))\" width=\"\(number(length))\""
                + " height=\"\(number(barHeight))\" rx=\"2\"/>"
        )
        var after = left + length
        if let promise = panel.promise(row) {
            let x = place(promise)
            elements.append(
                "  <path class=\"promise\" d=\"M\(number(x)) \(number(y + 2))V\(number(y + 8 + barHeight))\"/>"
            )
            // The ratio is behind the mark if it would overlap it.
            if x > after, x < after + 64 { after = x }
        }
        elements.append(element("ratio", after + 8, y + 16, panel.ratio(row)))
        elements.append(element("figures", edge, y + 16, escaped(panel.figures(row))))
    }
    return (elements, end)
}

func picture(of rows: [String: Row]) -> String? {
    var elements: [String] = []
    var end = 16.0
    for panel in panels {
        let drawn = draw(panel, rows, from: end + (elements.isEmpty ? 0 : 24))
        elements += drawn.elements
        end = drawn.end
    }
    guard !elements.isEmpty else { return nil }
    let legend = end + 28
    elements.append("  <path class=\"promise\" d=\"M27 \(number(legend - 12))v16\"/>")
    if panels.flatMap(\.bars).contains(where: { rows[$0.row]?.isOver == true }) {
        elements.append(
            "  <rect class=\"over\" x=\"156\" y=\"\(number(legend - 11))\" width=\"24\" height=\"\(number(barHeight))\" rx=\"2\"/>"
        )
        elements.append(element("note", 188, legend, "not kept in this run"))
    }
    elements.append(element("note", 36, legend, "what is promised"))
    elements.append(
        element("figures", edge, legend, "figures as ours : theirs; all of them are in Benchmarks/README.md")
    )
    let height = legend + 20
    return """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) \(Int(height))" width="\(Int(width))" \
        height="\(Int(height))" role="img" aria-labelledby="title">
          <title id="title">Speed of Touchstone as ratios beside a C program, other keychains and promised figures</title>
          <style>
        \(style)
          </style>
          <rect class="paper" x="0.5" y="0.5" width="\(Int(width) - 1)" height="\(Int(height) - 1)" rx="8"/>
        \(elements.joined(separator: "\n"))
        </svg>

        """
}

func fail(_ text: String, _ status: Int32) -> Never {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(status)
}

let arguments = CommandLine.arguments.dropFirst()
guard (1...2).contains(arguments.count), let file = arguments.first else {
    fail("usage: swift Scripts/chart.swift OUTPUT [PICTURE.svg]", 64)
}
guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
    fail("\(file): cannot be read", 66)
}
let rows = table(in: text)
let missing = panels.flatMap(\.bars).map(\.row).filter { rows[$0] == nil }
guard let drawing = picture(of: rows) else {
    fail("\(file): no table of Scripts/benchmark with a row to draw", 1)
}
if arguments.count == 2, let target = arguments.last {
    do {
        try drawing.write(toFile: target, atomically: true, encoding: .utf8)
    } catch {
        fail("\(target): cannot be written", 73)
    }
} else {
    print(drawing, terminator: "")
}
if !missing.isEmpty { fail(missing.map { "not in \(file): \($0)" }.joined(separator: "\n"), 2) }
