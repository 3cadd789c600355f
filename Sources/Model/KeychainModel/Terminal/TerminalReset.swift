/// What is written to a terminal after a program that drew on it was killed.
package enum TerminalReset {
    /// The bytes; a terminal that has no such screen ignores them.
    ///
    /// xterm's names: end of attributes and of line drawing, cursor on, cursor keys and keypad as usual, back from the
    /// other screen.
    ///
    /// - Parameter drewScreen: whether the program drew on the whole screen, with curses.
    package static func octets(drewScreen: Bool) -> [UInt8] {
        Array((drewScreen ? "\u{1B}[0m\u{1B}(B\u{1B}[?25h\u{1B}[?1l\u{1B}>\u{1B}[?1049l\r\n" : "\r\n").utf8)
    }
}
