import Glibc

/// The colour of a word that is judged, where a user reads it on a terminal.
enum Tint {
    case good
    case caution
    case bad

    /// Whether standard output is a terminal that has colours, and the user did not say `NO_COLOR` (no-color.org).
    static let isWanted: Bool =
        isatty(STDOUT_FILENO) == 1 && Environment.value("NO_COLOR") == nil
        && Environment.value("TERM").map { $0 != "dumb" } ?? false

    /// The text in this colour; as it is where colours are not wanted.
    ///
    /// ECMA-48, 8.3.117 (SGR): the terminal's own green, yellow and red, so that its scheme stays readable.
    func applied(to text: String, isWanted: Bool = isWanted) -> String {
        guard isWanted, !text.isEmpty else { return text }
        let number =
            switch self {
            case .good: 32
            case .caution: 33
            case .bad: 31
            }
        return "\u{1B}[\(number)m\(text)\u{1B}[39m"
    }
}
