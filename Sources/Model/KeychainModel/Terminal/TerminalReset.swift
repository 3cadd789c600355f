/// The bytes to write to a terminal after a program that drew on it was killed.
package enum TerminalReset {
    /// The escape sequences that restore the terminal.
    ///
    /// - Parameter drewScreen: whether the program drew on the whole screen, with curses.
    /// - Returns: in xterm's terms: attributes and line drawing off, cursor on, cursor keys and keypad normal, main
    ///   screen. A terminal that does not know these ignores them.
    package static func octets(drewScreen: Bool) -> [UInt8] {
        Array((drewScreen ? "\u{1B}[0m\u{1B}(B\u{1B}[?25h\u{1B}[?1l\u{1B}>\u{1B}[?1049l\r\n" : "\r\n").utf8)
    }
}
