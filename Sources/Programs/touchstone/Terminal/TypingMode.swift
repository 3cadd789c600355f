import Glibc

/// The terminal while a secret is typed: without echo, without lines, and with bracketed paste if it has it.
struct TypingMode: ~Copyable {
    private let descriptor: CInt
    private let before: termios
    private let hasPaste: Bool

    /// The terminal's keys for editing.
    var keys: EditingKeys { EditingKeys(before) }

    /// Changes the modes, but for the signal keys; nil if it is no terminal any more.
    init?(_ descriptor: CInt) {
        var mode = termios()
        guard unsafe tcgetattr(descriptor, &mode) == 0 else { return nil }
        self.descriptor = descriptor
        before = mode
        hasPaste = Environment.value("TERM").map { $0 != "dumb" } ?? false
        mode.c_lflag &= ~tcflag_t(ICANON | IEXTEN | ECHO | ECHOE | ECHOK | ECHONL)
        // Every byte arrives as it was sent.
        mode.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | IXON | ISTRIP | IUCLC)
        unsafe withUnsafeMutableBytes(of: &mode.c_cc) { keys in
            unsafe keys[Int(VMIN)] = 1
            unsafe keys[Int(VTIME)] = 0
        }
        // Discards input typed before the question, which was meant for something else.
        unsafe tcsetattr(descriptor, TCSAFLUSH, &mode)
        switchPaste("h")
    }

    deinit {
        switchPaste("l")
        var before = before
        unsafe tcsetattr(descriptor, TCSAFLUSH, &before)
    }

    private func switchPaste(_ end: String) {
        guard hasPaste else { return }
        let octets = Array("\u{1B}[?2004\(end)".utf8)
        _ = unsafe write(descriptor, octets, octets.count)
    }
}
