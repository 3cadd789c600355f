import CLinux
import Glibc
import KeychainModel

/// A pseudoterminal for a command, relayed to the terminal of this process.
final class RelayedTerminal {
    /// This process's end; non-blocking after ``begin()``.
    let primary: CInt
    /// The command's end; -1 after ``begin()``.
    private(set) var secondary: CInt
    private var before = termios()
    private var isRaw = false
    /// Whether standard input's terminal is in raw mode, so that this process reads every key.
    var hasKeys: Bool { isRaw }
    private var isOpen = true
    /// Input not yet written to the command's terminal.
    private var typed: [UInt8] = []

    /// Creates a terminal with the size and modes of standard input's, owned by `owner` or by this process's user if
    /// nil.
    init(of owner: UInt32? = nil) throws(CommandError) {
        var primary: CInt = -1
        var name = [CChar](repeating: 0, count: 64)
        guard unsafe clinux_openpty(&primary, &name, name.count) == 0 else { throw Self.failure() }
        self.primary = primary
        secondary = unsafe open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard secondary >= 0, unsafe tcgetattr(STDIN_FILENO, &before) == 0 else {
            let failure = Self.failure()
            close(primary)
            throw failure
        }
        var modes = before
        // What else the terminal changes in output, such as tabs into spaces, would hide a secret from the mask.
        modes.c_oflag &= tcflag_t(OPOST | ONLCR)
        guard unsafe tcsetattr(secondary, TCSANOW, &modes) == 0,
            owner.map({ fchown(secondary, $0, gid_t.max) == 0 }) ?? true
        else {
            let failure = Self.failure()
            close(primary)
            throw failure
        }
        copySize()
    }

    /// Starts to relay keys, once the command has its end of the terminal.
    func begin() {
        close(secondary)
        secondary = -1
        _ = fcntl(primary, F_SETFL, fcntl(primary, F_GETFL) | O_NONBLOCK)
        takeKeys()
    }

    /// Puts standard input's terminal into raw mode, if this process is in its foreground process group.
    ///
    /// In the background the keys are the shell's, and setting the modes would stop this process (SIGTTOU).
    func takeKeys() {
        copySize()
        guard tcgetpgrp(STDIN_FILENO) == getpgrp() else { return }
        // If this process was stopped by another one while in raw mode, the modes may have changed: keep those saved
        // before.
        if !isRaw { unsafe tcgetattr(STDIN_FILENO, &before) }
        var raw = before
        unsafe cfmakeraw(&raw)
        // Of output, this terminal goes on to change what the command's does not.
        let changes = before.c_oflag & tcflag_t(OPOST) == 0 ? 0 : before.c_oflag & tcflag_t(XTABS | OLCUC)
        raw.c_oflag = changes == 0 ? 0 : changes | tcflag_t(OPOST)
        isRaw = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0
    }

    /// Restores the modes of standard input's terminal.
    func restore() {
        if isRaw { unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
        isRaw = false
    }

    /// Copies the size of standard input's terminal; the kernel notifies the command (SIGWINCH).
    func copySize() {
        var size = winsize()
        if unsafe ioctl(STDIN_FILENO, UInt(TIOCGWINSZ), &size) == 0 {
            _ = unsafe ioctl(primary, UInt(TIOCSWINSZ), &size)
        }
    }

    /// What to poll for: keys, or room to write those already typed.
    var entries: [pollfd] {
        if !typed.isEmpty { return [pollfd(fd: primary, events: Int16(POLLOUT), revents: 0)] }
        return isOpen && isRaw ? [pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)] : []
    }

    /// Forwards keys, if there are any and the command's terminal has room.
    func pass(_ entries: ArraySlice<pollfd>) {
        guard let entry = entries.first, entry.revents != 0 else { return }
        if typed.isEmpty {
            var room = [UInt8](repeating: 0, count: 4096)
            let count = unsafe read(STDIN_FILENO, &room, room.count)
            if count > 0 {
                typed = Array(room[..<count])
            } else if count == 0 || errno != EINTR {
                isOpen = false
            }
        }
        guard !typed.isEmpty else { return }
        let count = unsafe Glibc.write(primary, typed, typed.count)
        if count > 0 {
            typed.removeFirst(count)
        } else if count < 0, errno != EAGAIN, errno != EINTR {
            typed = []
        }
    }

    private static func failure() -> CommandError {
        CommandError("cannot make a terminal for the command: \(SystemError.name(of: errno))")
    }
}
