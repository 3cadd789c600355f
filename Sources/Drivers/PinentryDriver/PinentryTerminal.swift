import Glibc
import KeychainModel

/// The terminal that a box is drawn on, held open to see it hang up and to put it in order afterwards.
final class PinentryTerminal: Sendable {
    /// Reports a hang-up to poll(2).
    let descriptor: CInt
    private let modes: termios
    private let client: PromptClient?
    private let status: stat
    private let name: String

    /// Opens a terminal of the user who asks, and remembers its modes; whether the client may have a box on it, ``look()``
    /// tells.
    ///
    /// - Throws: ``PromptError`` with `notInteractive` for anything but a terminal of that user.
    init(path: String, owner: uid_t, client: PromptClient? = nil) throws(PromptError) {
        var before = stat()
        // Before it is opened: opening a device may act on it.
        guard unsafe lstat(path, &before) == 0 else {
            throw Self.refused(path, SystemError.name(of: errno))
        }
        guard Self.isTerminal(before, of: owner) else { throw Self.refused(path, "not the user's terminal") }
        let descriptor = unsafe open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.refused(path, SystemError.name(of: errno)) }
        var after = stat()
        var modes = termios()
        guard unsafe fstat(descriptor, &after) == 0, after.st_rdev == before.st_rdev,
            Self.isTerminal(after, of: owner), unsafe tcgetattr(descriptor, &modes) == 0
        else {
            close(descriptor)
            throw Self.refused(path, "not a terminal")
        }
        self.descriptor = descriptor
        self.modes = modes
        self.client = client
        status = after
        name = path
    }

    deinit { close(descriptor) }

    /// Looks how the client stands to it now.
    ///
    /// - Returns: the channel of a box on it; nil where it cannot be told.
    /// - Throws: ``PromptError`` with `inBackground` where somebody else than the client reads from it.
    func look() throws(PromptError) -> PromptChannel? {
        switch TerminalStanding(of: client, to: status) {
        case .foreground(let channel): return channel
        case .background:
            throw PromptError(.inBackground, detail: "\(name): the client is in the background")
        }
    }

    /// Whether somebody else than the client reads from it now.
    var isInBackground: Bool { client != nil && TerminalStanding(of: client, to: status) == .background }

    /// The channel of a box on it; nil where it cannot be told.
    var channel: PromptChannel? { (try? look()) ?? nil }

    /// Whether the terminal is still there.
    var isConnected: Bool {
        var watched = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&watched, 1, 0) == 0
    }

    /// Has keys come one by one and unseen, and throws away what was typed before; the keys that end and stop programs stay.
    func takeKeys() {
        var modes = modes
        modes.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHOE | ECHOK | ECHONL)
        _ = unsafe tcsetattr(descriptor, TCSANOW, &modes)
        tcflush(descriptor, TCIFLUSH)
    }

    /// How many characters fit on a line; 80 where it does not say.
    var columns: Int {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Puts back the modes, after the program has ended.
    ///
    /// - Parameters:
    ///   - wasKilled: whether the program could not tidy up itself; what was typed by then is thrown away, so
    ///     that half a passcode does not become the shell's next command.
    ///   - drewScreen: whether it drew on the whole screen, with curses.
    func restore(wasKilled: Bool, drewScreen: Bool) {
        guard isConnected else { return }
        // A shell that took the terminal back has set the modes that it wants, and what is typed is meant for it.
        if !isInBackground {
            if wasKilled { tcflush(descriptor, TCIFLUSH) }
            var modes = modes
            // At once: with the output stopped, waiting for it to drain would have no end.
            _ = unsafe tcsetattr(descriptor, TCSANOW, &modes)
        }
        guard wasKilled else { return }
        let octets = TerminalReset.octets(drewScreen: drewScreen)
        _ = unsafe write(descriptor, octets, octets.count)
    }

    /// Writes a line, from the line's beginning and without its end.
    ///
    /// - Returns: takes it away again, where the client is still in the foreground.
    func showLine(_ text: String) -> (@Sendable () -> Void)? {
        guard put("\r\(text)") else { return nil }
        let blank = "\r" + String(repeating: " ", count: text.count) + "\r"
        return { [self] in
            if !isInBackground { _ = put(blank) }
        }
    }

    private func put(_ text: String) -> Bool {
        var octets = Array(text.utf8)
        return unsafe write(descriptor, &octets, octets.count) == octets.count
    }

    private static func isTerminal(_ status: stat, of owner: uid_t) -> Bool {
        // 5:0 is /dev/tty, which is another terminal for every process.
        status.st_mode & S_IFMT == S_IFCHR && status.st_uid == owner && status.st_rdev != 5 << 8
    }

    private static func refused(_ path: String, _ reason: String) -> PromptError {
        PromptError(.notInteractive, detail: "\(path): \(reason)")
    }
}
