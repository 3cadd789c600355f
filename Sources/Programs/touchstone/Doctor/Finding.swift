/// What a check came to.
struct Finding {
    /// How it went.
    enum Verdict: String {
        case ok
        /// Something is missing that one can do without.
        case warn
        /// Something has to be put right.
        case fail
    }

    /// The part that was checked.
    let part: String
    let verdict: Verdict
    /// What was found.
    let text: String
    /// What to do about it.
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

    /// What was found, then what to do.
    var lines: [String] {
        let verdict = self.verdict.rawValue
        let padding = String(repeating: " ", count: 4 - verdict.count)
        var lines = Columns.lines("\(verdict)\(padding)  ", Printable.text("\(part): \(text)"))
        // A file to be made has several lines, which stay as they are.
        let remedies = (remedy ?? "").split(separator: "\n").map { Printable.text(String($0)) }
        if let first = remedies.first { lines += Columns.lines("      -> ", first) }
        return lines + remedies.dropFirst().map { "         " + $0 }
    }

    /// For programs.
    var json: JSONText {
        .object([
            ("part", .text(part)), ("verdict", .text(verdict.rawValue)), ("text", .text(text)),
            ("remedy", .optional(remedy)),
        ])
    }
}
