/// The result of a check.
struct Finding {
    /// The outcome of a check.
    enum Verdict: String {
        case ok
        /// Something optional is missing.
        case warn
        /// Something must be fixed.
        case fail
    }

    /// The part that was checked.
    let part: String
    let verdict: Verdict
    /// The result in words.
    let text: String
    /// The remedy.
    let remedy: String?

    static func ok(_ part: String, _ text: String) -> Finding {
        Finding(part: part, verdict: .ok, text: text, remedy: nil)
    }

    static func warn(_ part: String, _ text: String, _ remedy: String) -> Finding {
        Finding(part: part, verdict: .warn, text: text, remedy: remedy)
    }

    static func fail(_ part: String, _ text: String, _ remedy: String) -> Finding {
        Finding(part: part, verdict: .fail, text: text, remedy: remedy)
    }

    /// The result, then the remedy; on a terminal the verdict has a colour.
    var lines: [String] {
        let verdict = self.verdict.rawValue
        let padding = String(repeating: " ", count: 4 - verdict.count)
        var lines = Columns.lines("\(verdict)\(padding)  ", Printable.text("\(part): \(text)"))
        if let first = lines.first { lines[0] = tint.applied(to: verdict) + first.dropFirst(verdict.count) }
        // A file to create has several lines, which are kept.
        let remedies = (remedy ?? "").split(separator: "\n").map { Printable.text(String($0)) }
        if let first = remedies.first { lines += Columns.lines("      -> ", first) }
        return lines + remedies.dropFirst().map { "         " + $0 }
    }

    private var tint: Tint {
        switch verdict {
        case .ok: .good
        case .warn: .caution
        case .fail: .bad
        }
    }

    /// The finding for programs.
    var json: JSONText {
        .object([
            ("part", .text(part)), ("verdict", .text(verdict.rawValue)), ("text", .text(text)),
            ("remedy", .optional(remedy)),
        ])
    }
}
