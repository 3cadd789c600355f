/// What a pinentry program says it is (`GETINFO flavor`), and how its boxes differ.
///
/// Seen in pictures of what Debian 12 ships (1.2.1): `curses`, `tty`, `gtk2`, `qt`, `gnome3`.
struct PinentryFlavor: Equatable {
    /// Its own word; `gtk2:curses` where it fell back.
    let name: String

    /// Whether it draws on the terminal, whatever else there is.
    var drawsOnTerminal: Bool { name == "tty" || drawsWithCurses }

    /// Whether it draws on the whole screen of a terminal.
    var drawsWithCurses: Bool { name == "curses" || name.hasSuffix(":curses") }

    /// GNOME's shell draws the box: the label of the field stands above all as its heading, the field itself is always
    /// labelled "Password:", and a confirmation has two buttons.
    var isGNOME: Bool { name == "gnome3" }

    /// Whether a new secret is asked for twice in one box, and judged there while it is typed.
    ///
    /// Curses and tty have no second field; GNOME's box has one, and its own idea of a good passcode. There a second
    /// box follows once the first entry was judged.
    var asksTwice: Bool { !drawsOnTerminal && !isGNOME }
}
