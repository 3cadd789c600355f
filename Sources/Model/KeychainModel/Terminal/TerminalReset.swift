/// What is written to a terminal after a program that drew on it was killed.
package enum TerminalReset {
    /// Puts in order what was drawn: the bytes.
    ///
    /// - Parameter drewScreen: whether the program drew on the whole screen, with curses.
    /// - Returns: xterm's names: end of attributes and of line drawing, cursor on, cursor keys and keypad as usual, back
    ///   from the other screen. A terminal that has none of these ignores them.
    package static func octets(drewScreen: Bool) -> [UInt8] {
        Array((drewScreen ? "\u{1B}[0m\u{1B}(B\u{1B}[?25h\u{1B}[?1l\u{1B}>\u{1B}[?1049l\r\n" : "\r\n").utf8)
    }
}
