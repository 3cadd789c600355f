import Glibc

/// Text wrapped to the width of the user's terminal.
enum Columns {
    /// The width of standard output's terminal; nil if it is not a terminal, or reports no usable width.
    static let ofTerminal: Int? = {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0,
            size.ws_col >= 20
        else { return nil }
        return Int(size.ws_col)
    }()

    /// A text after a title, in lines of at most `width` columns; further lines are indented to the start of the text.
    static func lines(_ title: String, _ text: String, width: Int? = ofTerminal) -> [String] {
        guard let width else { return [title + text] }
        let indentation = DisplayWidth.of(title)
        let blank = String(repeating: " ", count: indentation)
        return wrapped(text, width: max(8, width - indentation)).enumerated().map { number, line in
            (number == 0 ? title : blank) + line
        }
    }

    /// A text in lines of at most `width` columns: broken at spaces, and within a word that is longer than a line.
    static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var used = 0
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let length = DisplayWidth.of(String(word))
            if !line.isEmpty, used + 1 + length > width {
                lines.append(line)
                (line, used) = ("", 0)
            } else if !line.isEmpty {
                (line, used) = (line + " ", used + 1)
            }
            for character in word {
                let columns = DisplayWidth.of(String(character))
                if used + columns > width, !line.isEmpty {
                    lines.append(line)
                    (line, used) = ("", 0)
                }
                line.append(character)
                used += columns
            }
        }
        return lines + [line]
    }
}
