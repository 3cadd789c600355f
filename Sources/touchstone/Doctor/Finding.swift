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
        var lines = ["\(verdict)\(padding)  \(part): \(text)"]
        // A file to be made has several lines.
        for (number, line) in (remedy ?? "").split(separator: "\n").enumerated() {
            lines.append((number == 0 ? "      -> " : "         ") + line)
        }
        return lines.map(Printable.text)
    }

    /// For programs.
    var json: JSONText {
        .object([
            ("part", .text(part)), ("verdict", .text(verdict.rawValue)), ("text", .text(text)),
            ("remedy", .optional(remedy)),
        ])
    }
}
