import Glibc
import KeychainModel
import SecretMemory

/// Saves the modes of this process's terminal, for a daemon that dies during a prompt.
///
/// A prompt turns the echo off. The daemon restores the modes if the program that draws the prompt dies. If the
/// daemon itself is killed along with that program, only the waiting process is left to restore them.
enum TerminalModes {
    private struct Saved {
        let terminal: String
        let modes: termios
    }

    private struct State {
        var saved: Saved?
        /// The number of requests in flight, any of which may have a prompt.
        var requests = 0
    }

    private static let state = Guarded(State())
    /// The drawing program may be killed shortly after the daemon's socket closes.
    private static let pauseMilliseconds: [CInt] = [0, 20, 60]

    /// Saves the modes of `terminal`, unless a prompt may be using it now.
    static func remember(_ terminal: String) {
        state.withLock { state in
            guard state.requests == 0, let descriptor = open(terminal) else { return }
            defer { close(descriptor) }
            var modes = termios()
            guard unsafe tcgetattr(descriptor, &modes) == 0 else { return }
            state.saved = Saved(terminal: terminal, modes: modes)
        }
    }

    /// Counts a request that is being sent and may cause a prompt.
    static func begin() { state.withLock { $0.requests += 1 } }

    /// Ends a request; `isLost`: its connection was lost.
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
        // If this process is in the background, the shell has the terminal and its own modes.
        let foreground = tcgetpgrp(descriptor)
        guard foreground < 0 || foreground == getpgrp() else { return }
        var (now, modes) = (termios(), saved.modes)
        guard unsafe tcgetattr(descriptor, &now) == 0, !areSame(now, modes) else { return }
        // Discard typed input: half a passcode must not become the shell's next command.
        tcflush(descriptor, TCIFLUSH)
        _ = unsafe tcsetattr(descriptor, TCSANOW, &modes)
        // Only curses turns ICRNL off and draws on the alternate screen.
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
