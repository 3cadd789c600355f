import CLinux
import Glibc

/// A terminal without a screen: a program draws on it, a test reads the output and types.
///
/// ```swift
/// let terminal = try PseudoTerminal()
/// try await terminal.wait(for: "Passcode:")
/// terminal.type("correct horse")
/// terminal.press(.enter)
/// ```
package final class PseudoTerminal: Sendable {
    /// A key press, or text.
    package enum Key: Sendable, Equatable {
        /// Carriage return: what the enter key sends.
        case enter
        /// Moves to the next field or button.
        case tab
        /// Control and D: end of file.
        case endOfFile
        /// Control and C.
        case interrupt
        /// Text.
        case text(String)

        fileprivate var octets: [UInt8] {
            switch self {
            case .enter: [0x0D]
            case .tab: [0x09]
            case .endOfFile: [0x04]
            case .interrupt: [0x03]
            case .text(let text): Array(text.utf8)
            }
        }
    }

    /// `/dev/pts/N`.
    package let name: String
    private let screen: TerminalScreen
    /// Kept open: with no open descriptor of this side, reading the primary side fails instead of waiting.
    private let secondary: CInt

    /// Opens a terminal with a size in characters.
    package init(columns: UInt16 = 80, rows: UInt16 = 24) throws {
        var primary: CInt = -1
        var octets = [CChar](repeating: 0, count: 64)
        guard unsafe clinux_openpty(&primary, &octets, octets.count) == 0 else {
            throw TerminalError.system(errno)
        }
        name = String(decoding: octets.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        secondary = unsafe open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard secondary >= 0, unsafe ioctl(primary, UInt(TIOCSWINSZ), &size) == 0 else {
            let reason = errno
            close(primary)
            throw TerminalError.system(reason)
        }
        screen = try TerminalScreen(adopting: primary)
    }

    deinit {
        screen.close()
        close(secondary)
    }

    /// The output so far, without escape sequences.
    package var text: String { String(decoding: screen.visible, as: UTF8.self) }

    /// The output so far as bytes.
    package var octets: [UInt8] { screen.octets }

    /// Waits until a text is drawn, after the text that was waited for before; white space is ignored.
    ///
    /// - Throws: ``TerminalError`` with the output instead.
    package func wait(for text: String, timeout: Duration = Deadline.patience) async throws {
        _ = try await wait(forAnyOf: [text], timeout: timeout)
    }

    /// Waits for the first of several texts.
    ///
    /// - Returns: its index.
    @discardableResult
    package func wait(forAnyOf texts: [String], timeout: Duration = Deadline.patience) async throws -> Int {
        switch await screen.wait(forAnyOf: texts, until: ContinuousClock.now + timeout) {
        case .text(let index): return index
        case .timedOut: throw TerminalError.timedOut(waitingFor: texts, drawn: text)
        case .closed: throw TerminalError.closed
        case .cancelled: throw CancellationError()
        }
    }

    /// Makes the next wait start after the present output.
    package func skip() { screen.skip() }

    /// Types a text, without the enter key.
    package func type(_ text: String) { press(.text(text)) }

    /// Presses keys, one after another; does nothing when the terminal is closed.
    ///
    /// At a prompt, which turns the echo off, the keys arrive as from a person who has read it:
    /// ``TerminalScreen/reactionTime`` after the last output.
    package func press(_ keys: Key...) { press(keys) }

    /// Presses keys, one after another.
    package func press(_ keys: [Key]) {
        let keys = keys.flatMap(\.octets)
        if screen.hasShownPrompt, !isEchoing {
            screen.writeOnceRead(keys)
        } else {
            _ = screen.write(keys)
        }
    }

    /// Presses keys at the moment a text appears, as a person does who is typing anyway; one text at a time.
    package func press(_ keys: Key..., uponSight text: String) {
        screen.write(keys.flatMap(\.octets), uponSight: text)
    }

    /// Presses keys at once, as a person does who looks elsewhere.
    package func pressBlindly(_ keys: Key...) { _ = screen.write(keys.flatMap(\.octets)) }

    /// Closes the terminal as a window does: its programs get a hang-up.
    package func hangUp() { screen.close() }

    /// Waits for the exit of the session leader whose controlling terminal this is, if there is one.
    func waitUntilReleased() {
        guard let leader = screen.sessionLeader else { return }
        let process = clinux_pidfd_open(leader)
        guard process >= 0 else { return }
        defer { close(process) }
        var watched = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&watched, 1, CInt(Deadline.patience.components.seconds) * 1000)
    }

    /// Whether the terminal echoes typed characters.
    package var isEchoing: Bool { localModes & tcflag_t(ECHO) != 0 }

    /// Whether programs read whole lines (canonical mode).
    package var isCanonical: Bool { localModes & tcflag_t(ICANON) != 0 }

    private var localModes: tcflag_t {
        var modes = termios()
        return unsafe tcgetattr(secondary, &modes) == 0 ? modes.c_lflag : 0
    }
}

/// Why waiting for output failed.
package enum TerminalError: Error, Sendable {
    /// The text did not appear in time.
    case timedOut(waitingFor: [String], drawn: String)
    /// The terminal was closed.
    case closed
    /// A system call failed with this `errno`.
    case system(Int32)
}
