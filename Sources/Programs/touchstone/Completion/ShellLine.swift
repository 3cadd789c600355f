/// A bash command line up to the cursor: its words as the command would get them, and the part of the last one that
/// readline(3) replaces.
///
/// Nothing is expanded: a word with an expansion is not completed.
struct ShellLine {
    private enum Quote: Character {
        case single = "'"
        case double = "\""
    }

    /// The words before the last one, the command's name first.
    private(set) var words: [String] = []
    /// The last word, which may be empty.
    private(set) var last = ""
    /// Whether the last word can be completed as an argument: it holds no expansion, and is no file to redirect to.
    var isArgument: Bool { !isExpanded && !isRedirection }

    private let breaks: String
    /// What readline keeps of the last word: up to a character of `COMP_WORDBREAKS`, or up to an open quote.
    private var kept = ""
    private var quote: Quote?
    private var keptBeforeQuote = ""
    private var isEscaped = false
    private var isExpanded = false
    private var isRedirection = false
    private var hasWord = false

    /// Reads a line up to the cursor; `breaks` is `COMP_WORDBREAKS`.
    init(_ text: String, breaks: String) {
        self.breaks = breaks
        for character in text {
            if isEscaped {
                // In double quotes a backslash stays before any other character.
                if quote == .double, !"$`\"\\".contains(character) { last.append("\\") }
                last.append(character)
                isEscaped = false
            } else if let quote {
                takeQuoted(character, in: quote)
            } else {
                takePlain(character)
            }
        }
    }

    private mutating func takeQuoted(_ character: Character, in quote: Quote) {
        if character == quote.rawValue {
            self.quote = nil
            kept = keptBeforeQuote
        } else if quote == .double, character == "\\" {
            isEscaped = true
        } else {
            if quote == .double, "$`".contains(character) { isExpanded = true }
            last.append(character)
        }
    }

    private mutating func takePlain(_ character: Character) {
        switch character {
        case " ", "\t", "\n": endWord()
        case "<", ">", "|", "&", ";", "(", ")":
            endWord()
            isRedirection = character == "<" || character == ">"
        case "'", "\"":
            quote = Quote(rawValue: character)
            hasWord = true
            keptBeforeQuote = kept
            kept = last
        case "\\":
            isEscaped = true
            hasWord = true
        default:
            if "$`".contains(character) { isExpanded = true }
            hasWord = true
            let before = last
            last.append(character)
            // A host's name is completed with its @ (bash's option hostcomplete), everything else after the character.
            if breaks.contains(character) { kept = character == "@" ? before : last }
        }
    }

    private mutating func endWord() {
        guard hasWord else { return }
        if !isRedirection { words.append(last) }
        (last, kept) = ("", "")
        (hasWord, isExpanded, isRedirection) = (false, false, false)
    }

    /// What readline has to insert for `word` in place of the last one, quoted as the line is at the cursor; nil if it
    /// does not begin as the last one.
    func replacement(_ word: String) -> String? {
        guard word.utf8.starts(with: last.utf8) else { return nil }
        let rest = String(decoding: word.utf8.dropFirst(kept.utf8.count), as: UTF8.self)
        switch quote {
        case nil: return ShellWord.escaped(rest, isStart: kept.isEmpty)
        // The closing quote, too: readline adds none to a text that ends with one.
        case .single: return rest.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
        case .double: return rest.map(Self.doubleQuoted).joined() + "\""
        }
    }

    private static func doubleQuoted(_ character: Character) -> String {
        switch character {
        case "$", "`", "\"", "\\": "\\" + String(character)
        // The history is expanded within double quotes too, where nothing quotes it.
        case "!": "\"\\!\""
        default: String(character)
        }
    }
}
