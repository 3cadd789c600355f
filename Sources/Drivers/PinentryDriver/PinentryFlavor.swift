/// A pinentry program's own name for its variant (`GETINFO flavor`), and how its prompts differ.
///
/// As seen in screenshots of Debian 12's programs (1.2.1): `curses`, `tty`, `gtk2`, `qt`, `gnome3`.
struct PinentryFlavor: Equatable {
    /// The program's own word; `gtk2:curses` if it fell back.
    let name: String
    /// Whether it draws on a terminal that does not take UTF-8; curses refuses a text with other characters than ASCII there.
    var drawsASCII = false
    /// The language of what Touchstone says.
    var words = PromptWords.english

    /// Whether it always draws on the terminal.
    var drawsOnTerminal: Bool { name == "tty" || drawsWithCurses }

    /// Whether it draws on the whole screen of a terminal.
    var drawsWithCurses: Bool { name == "curses" || name.hasSuffix(":curses") }

    /// GNOME's shell draws the prompt: the label of the field becomes the heading at the top, the field itself is always
    /// labelled "Password:", and a confirmation has two buttons.
    var isGNOME: Bool { name == "gnome3" }

    /// Whether one prompt has two fields for a new secret, and judges it while it is typed.
    ///
    /// Curses and tty have no second field; GNOME's prompt has one, and its own rating of a passcode. For these a second
    /// prompt follows once the first entry was judged.
    var asksTwice: Bool { !drawsOnTerminal && !isGNOME }

    /// A line for the program in characters that it can draw, and not longer; whatever is escaped is ASCII already.
    func drawable(_ line: [UInt8]) -> [UInt8] {
        drawsASCII ? Array(PromptText.ascii(String(decoding: line, as: UTF8.self)).utf8) : line
    }
}
