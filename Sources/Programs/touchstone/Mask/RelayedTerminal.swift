import CLinux
import Glibc
import KeychainModel

/// A terminal for a command, behind the terminal of this process.
final class RelayedTerminal {
    /// The end that this process holds; reads do not wait.
    let primary: CInt
    /// The end that becomes the command's.
    private(set) var secondary: CInt
    private var before = termios()
    private var isRaw = false
    /// Whether every key comes here, and not to the shell.
    var hasKeys: Bool { isRaw }
    private var isOpen = true
    /// What was typed and not yet taken.
    private var typed: [UInt8] = []

    /// Makes a terminal with the size and the modes of standard input's; it is `owner`'s, or this process's user's.
    init(of owner: UInt32? = nil) throws(CommandError) {
        var primary: CInt = -1
        var name = [CChar](repeating: 0, count: 64)
        guard unsafe clinux_openpty(&primary, &name, name.count) == 0 else { throw Self.failure() }
        self.primary = primary
        secondary = unsafe open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard secondary >= 0, unsafe tcgetattr(STDIN_FILENO, &before) == 0,
            unsafe tcsetattr(secondary, TCSANOW, &before) == 0,
            owner.map({ fchown(secondary, $0, gid_t.max) == 0 }) ?? true
        else {
            let failure = Self.failure()
            close(primary)
            throw failure
        }
        copySize()
    }

    /// The command has its end, and gets every key from now on.
    func begin() {
        close(secondary)
        secondary = -1
        _ = fcntl(primary, F_SETFL, fcntl(primary, F_GETFL) | O_NONBLOCK)
        takeKeys()
    }

    /// Takes every key of standard input's terminal as it is, where this process is in the foreground there.
    ///
    /// In the background the keys are the shell's, and setting the modes would stop this process.
    func takeKeys() {
        copySize()
        guard tcgetpgrp(STDIN_FILENO) == getpgrp() else { return }
        // Who stopped this process from outside has changed the modes since: those of before stay.
        if !isRaw { unsafe tcgetattr(STDIN_FILENO, &before) }
        var raw = before
        unsafe cfmakeraw(&raw)
        isRaw = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0
    }

    /// Gives standard input's terminal back as it was.
    func restore() {
        if isRaw { unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
        isRaw = false
    }

    /// Takes the size of standard input's terminal over; the command is told by the kernel.
    func copySize() {
        var size = winsize()
        if unsafe ioctl(STDIN_FILENO, UInt(TIOCGWINSZ), &size) == 0 {
            _ = unsafe ioctl(primary, UInt(TIOCSWINSZ), &size)
        }
    }

    /// What to wait for: a key, or room for those that were typed.
    var entries: [pollfd] {
        if !typed.isEmpty { return [pollfd(fd: primary, events: Int16(POLLOUT), revents: 0)] }
        return isOpen && isRaw ? [pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)] : []
    }

    /// Passes keys on, where there are some and there is room for them.
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
