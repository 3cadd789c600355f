import Glibc
import KeychainModel
import SecretMemory

/// The modes of this process's terminal, for a daemon that dies in the middle of a prompt.
///
/// A prompt turns the echo off. The daemon puts the modes back whatever becomes of the program that draws; where the
/// daemon itself is killed, with that program, the process that waits for it is the one who is left to do it.
enum TerminalModes {
    private struct Saved {
        let terminal: String
        let modes: termios
    }

    private struct State {
        var saved: Saved?
        /// Requests under way, in any of which a prompt may be up.
        var requests = 0
    }

    private static let state = Guarded(State())
    /// The program that draws may be killed a moment after the daemon's socket closes.
    private static let pauseMilliseconds: [CInt] = [0, 20, 60]

    /// Remembers the modes of `terminal`, unless a prompt may be on it now.
    static func remember(_ terminal: String) {
        state.withLock { state in
            guard state.requests == 0, let descriptor = open(terminal) else { return }
            defer { close(descriptor) }
            var modes = termios()
            guard unsafe tcgetattr(descriptor, &modes) == 0 else { return }
            state.saved = Saved(terminal: terminal, modes: modes)
        }
    }

    /// A request is sent, for which a prompt may come.
    static func begin() { state.withLock { $0.requests += 1 } }

    /// A request is over; `isLost`: with its connection.
    static func end(isLost: Bool) {
        let saved = state.withLock { state in
            state.requests -= 1
            return isLost ? state.saved : nil
        }
        guard let saved else { return }
        for pause in pauseMilliseconds {
            _ = poll(nil, 0, pause)
            restore(saved)
        }
    }

    private static func restore(_ saved: Saved) {
        guard let descriptor = open(saved.terminal) else { return }
        defer { close(descriptor) }
        // In the background the shell has the terminal, with the modes that it wants.
        let foreground = tcgetpgrp(descriptor)
        guard foreground < 0 || foreground == getpgrp() else { return }
        var (now, modes) = (termios(), saved.modes)
        guard unsafe tcgetattr(descriptor, &now) == 0, !areSame(now, modes) else { return }
        // Half a passcode must not become the shell's next command.
        tcflush(descriptor, TCIFLUSH)
        _ = unsafe tcsetattr(descriptor, TCSANOW, &modes)
        // curses alone takes carriage returns as they are, and draws on the other screen.
        let drewScreen = modes.c_iflag & tcflag_t(ICRNL) != 0 && now.c_iflag & tcflag_t(ICRNL) == 0
        let octets = TerminalReset.octets(drewScreen: drewScreen)
        _ = unsafe write(descriptor, octets, octets.count)
    }

    private static func areSame(_ one: termios, _ other: termios) -> Bool {
        one.c_iflag == other.c_iflag && one.c_oflag == other.c_oflag && one.c_cflag == other.c_cflag
            && one.c_lflag == other.c_lflag
    }

    private static func open(_ terminal: String) -> CInt? {
        let descriptor = unsafe Glibc.open(terminal, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        return descriptor < 0 ? nil : descriptor
    }
}
