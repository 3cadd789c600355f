import CLinux
import Glibc
import KeychainModel

/// The terminal that a prompt is drawn on, held open to detect a hang-up and to restore its modes afterwards.
final class PinentryTerminal: Sendable {
    /// Reports a hang-up to poll(2).
    let descriptor: CInt
    private let modes: termios
    private let client: PromptClient?
    private let owner: uid_t
    private let trust: TerminalTrust
    /// The foreground process group before the prompt; nil if it cannot be determined.
    private let foreground: Int32?
    private let name: String

    /// Opens a terminal of the user and saves its modes; ``look()`` tells whether the client may have a prompt on it.
    ///
    /// - Parameters:
    ///   - path: where it is.
    ///   - owner: the user.
    ///   - client: the requesting process; nil for a prompt of this process itself.
    ///   - trust: whether all terminals of the client's login are one channel.
    /// - Throws: ``PromptError`` with `notInteractive` for anything but a terminal of that user.
    init(
        path: String,
        owner: uid_t,
        client: PromptClient? = nil,
        trust: TerminalTrust = .terminal
    ) throws(PromptError) {
        guard TerminalPath.isUsable(path) else { throw Self.refused(path, "not a path of a terminal") }
        var before = stat()
        // Checked before opening it: opening a device may have side effects.
        guard unsafe lstat(path, &before) == 0 else {
            throw Self.refused(path, SystemError.name(of: errno))
        }
        guard before.st_uid == owner else {
            throw Self.refused(path, "belongs to user \(before.st_uid), not to user \(owner)")
        }
        guard Self.isTerminal(before, of: owner) else { throw Self.refused(path, "not a terminal") }
        let descriptor = unsafe open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.refused(path, SystemError.name(of: errno)) }
        var after = stat()
        var modes = termios()
        guard unsafe fstat(descriptor, &after) == 0, after.st_rdev == before.st_rdev,
            Self.isTerminal(after, of: owner), TerminalPath.isHere(device: UInt64(after.st_dev), at: path),
            unsafe tcgetattr(descriptor, &modes) == 0
        else {
            close(descriptor)
            throw Self.refused(path, "not a terminal")
        }
        self.descriptor = descriptor
        self.modes = modes
        self.client = client
        (self.owner, self.trust) = (owner, trust)
        foreground = Self.foreground(of: descriptor)
        name = path
    }

    deinit { close(descriptor) }

    /// Checks whether the client is in the terminal's foreground now.
    ///
    /// - Returns: the channel of a prompt on it; nil if it cannot be determined.
    /// - Throws: ``PromptError`` with `inBackground` if another process than the client reads from it.
    func look() throws(PromptError) -> PromptChannel? {
        switch standing {
        case .foreground(let channel): return channel
        case .background:
            throw PromptError(.inBackground, detail: "\(name): the client is in the background")
        }
    }

    /// Whether another process than the client reads from it now.
    var isInBackground: Bool { client != nil && standing == .background }

    /// The client's standing now; a prompt changes the modes, so those from before it tell whether a line is edited.
    private var standing: TerminalStanding {
        TerminalStanding(
            of: client,
            to: descriptor,
            trust: trust,
            owner: owner,
            isEditing: modes.c_lflag & tcflag_t(ICANON) == 0
        )
    }

    /// Whether a shell has taken the terminal back: the client is in the background, or has ended and another group is in
    /// the foreground.
    ///
    /// Without a shell that controls jobs, a client that was killed leaves the terminal as the prompt program set it.
    private var isTakenBack: Bool {
        guard let client else { return false }
        guard ProcessStat(of: client.process)?.start == client.start else {
            return Self.foreground(of: descriptor) != foreground
        }
        return isInBackground
    }

    private static func foreground(of terminal: CInt) -> Int32? {
        var group: Int32 = 0
        return unsafe clinux_terminal_foreground(terminal, &group) == 0 ? group : nil
    }

    /// The channel of a prompt on it; nil if it cannot be determined.
    var channel: PromptChannel? { (try? look()) ?? nil }

    /// Whether the terminal has not hung up.
    var isConnected: Bool {
        var watched = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&watched, 1, 0) == 0
    }

    /// What was typed before a prompt.
    enum TypedKeys {
        case none
        /// Whole lines.
        case lines
        /// At last a line without its end, or keys of a program that reads them one by one.
        case part
    }

    /// Discards typed input, if there is any.
    ///
    /// - Returns: what was discarded.
    func discardKeys() -> TypedKeys {
        var modes = termios()
        guard unsafe tcgetattr(descriptor, &modes) == 0 else { return .none }
        // In line mode the kernel reports whole lines only.
        let isInLines = modes.c_lflag & tcflag_t(ICANON) != 0
        if isInLines {
            var raw = modes
            raw.c_lflag &= ~tcflag_t(ICANON)
            _ = unsafe tcsetattr(descriptor, TCSANOW, &raw)
        }
        defer { if isInLines { _ = unsafe tcsetattr(descriptor, TCSANOW, &modes) } }
        guard waitingByteCount > 0 else { return .none }
        let last = readLast()
        tcflush(descriptor, TCIFLUSH)
        return last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") ? .lines : .part
    }

    /// Reads what was typed and forgets it; it may be a passcode.
    ///
    /// - Returns: the last byte; nil if nothing could be read.
    private func readLast() -> UInt8? {
        unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { bytes in
            var last: UInt8?
            while case let count = unsafe read(descriptor, bytes.baseAddress, bytes.count), count > 0 {
                last = unsafe bytes[count - 1]
            }
            if let start = bytes.baseAddress { unsafe clinux_wipe(start, bytes.count) }
            return last
        }
    }

    private var waitingByteCount: CInt {
        var count: CInt = 0
        return unsafe ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? count : 0
    }

    /// Whether the terminal echoes what is typed.
    var isEchoing: Bool { hasMode(ECHO) }

    /// Whether programs read whole lines.
    var isCanonical: Bool { hasMode(ICANON) }

    private func hasMode(_ mode: CInt) -> Bool {
        var modes = termios()
        return unsafe tcgetattr(descriptor, &modes) == 0 && modes.c_lflag & tcflag_t(mode) != 0
    }

    /// Turns off line mode and echo and discards typed input; the signal keys stay enabled.
    func takeKeys() {
        var modes = modes
        modes.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHOE | ECHOK | ECHONL)
        _ = unsafe tcsetattr(descriptor, TCSANOW, &modes)
        tcflush(descriptor, TCIFLUSH)
    }

    /// The width in characters; 80 if the terminal does not report it.
    var columns: Int {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Restores the modes, after the program has ended.
    ///
    /// - Parameters:
    ///   - wasKilled: whether the program could not clean up itself; typed input is then discarded, so that half a
    ///     passcode does not become the shell's next command.
    ///   - drewScreen: whether it drew on the whole screen, with curses.
    func restore(wasKilled: Bool, drewScreen: Bool) {
        guard isConnected else { return }
        // A shell that took the terminal back has set its own modes, and typed input is meant for it.
        if !isTakenBack {
            if wasKilled { tcflush(descriptor, TCIFLUSH) }
            var modes = modes
            // Immediately (TCSANOW): with output stopped, waiting for it to drain would never end.
            _ = unsafe tcsetattr(descriptor, TCSANOW, &modes)
        }
        guard wasKilled else { return }
        let octets = TerminalReset.octets(drewScreen: drewScreen)
        _ = unsafe write(descriptor, octets, octets.count)
    }

    /// Writes a line from column 0, without a line end.
    ///
    /// - Returns: a closure that erases the line if the client is still in the foreground; nil if writing failed.
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
        // 5:0 is /dev/tty, which is a different terminal for every process.
        status.st_mode & S_IFMT == S_IFCHR && status.st_uid == owner && status.st_rdev != 5 << 8
    }

    private static func refused(_ path: String, _ reason: String) -> PromptError {
        PromptError(.notInteractive, detail: "\(path): \(reason)")
    }
}
