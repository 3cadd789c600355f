import CLinux
import Glibc
import KeychainModel

/// Notices keys that were pressed before the user could have read a prompt on a terminal, and so were meant for
/// something else.
///
/// The program that draws reads the keys, so their number and content stay unknown here; the kernel tells that some
/// arrived. Used on one thread, that of the prompt's conversation.
final class EarlyKeys {
    /// How often the terminal is checked for a prompt that has appeared, in milliseconds.
    private static let drawnCheckMilliseconds: CInt = 10
    /// How long a program may take to draw before its prompt is assumed to be visible.
    private static let longestDrawing = Duration.seconds(2)

    private enum Stage {
        case off
        /// The program was told to show the prompt at this time, and has not yet turned the echo off.
        case drawing(since: ContinuousClock.Instant)
        /// The prompt is visible, and keys count from this time on.
        case settling(until: ContinuousClock.Instant)
    }

    private let terminal: PinentryTerminal
    private let reader: pid_t
    private let pause: Duration
    private var stage = Stage.off
    /// Reports arriving input to poll(2); -1 while nothing is watched.
    private(set) var descriptor: CInt = -1
    private var wereFound = false

    /// Watches no keys before ``begin()``.
    ///
    /// - Parameters:
    ///   - terminal: the terminal of the prompt.
    ///   - reader: the child process that draws the prompt and reads the keys.
    ///   - pause: how long after the prompt appears keys still count as meant for something else.
    init(_ terminal: PinentryTerminal, readBy reader: pid_t, pause: Duration) {
        (self.terminal, self.reader, self.pause) = (terminal, reader, pause)
    }

    deinit { stop() }

    /// Discards keys that were typed already, and starts to watch for more; called just before a prompt is drawn.
    ///
    /// - Returns: whether whole lines were discarded; the prompt should say so.
    /// - Throws: ``ExchangeFailure`` if the kernel cannot watch the terminal.
    func begin() throws(ExchangeFailure) -> Bool {
        stop()
        descriptor = clinux_terminal_watch_keys(terminal.descriptor)
        guard descriptor >= 0 else { throw .system(errno: errno) }
        let typed = terminal.discardKeys()
        // The rest of a begun line is still to come.
        wereFound = typed == .part
        let now = ContinuousClock.now
        stage = terminal.isEchoing ? .drawing(since: now) : .settling(until: now + pause)
        return typed == .lines
    }

    /// Takes notice of keys that arrived since the last call; called at each wake-up while the prompt waits.
    func look() {
        guard descriptor >= 0 else { return }
        if clinux_terminal_had_keys(descriptor) { wereFound = true }
        let now = ContinuousClock.now
        switch stage {
        case .off: break
        case .drawing(let start):
            // The program turns the echo off just before it draws.
            guard !terminal.isEchoing || now > start + Self.longestDrawing else { break }
            stage = .settling(until: now + pause)
        case .settling(let end):
            guard now >= end else { break }
            // If this thread was late, it counts a key as early rather than an early one as meant. The kernel does not
            // report a begun line to a program that reads lines.
            if terminal.isCanonical, hasBegunLine() { wereFound = true }
            stop()
        }
    }

    /// Discards a line without its end.
    ///
    /// The reader is stopped meanwhile: outside of line mode, in which alone the kernel counts such a line, it would read it.
    private func hasBegunLine() -> Bool {
        PinentryProcess.whileStopped(reader) { terminal.discardKeys() != .none } ?? true
    }

    /// Ends the watch.
    ///
    /// - Returns: whether the line or key that the program reported began too early.
    func end() -> Bool {
        look()
        stop()
        return wereFound
    }

    /// How long poll(2) may wait before ``look()`` has to be called, in milliseconds.
    var pollTimeout: CInt {
        switch stage {
        case .off: .max
        case .drawing: Self.drawnCheckMilliseconds
        case .settling(let end): end.pollTimeout
        }
    }

    private func stop() {
        stage = .off
        guard descriptor >= 0 else { return }
        clinux_terminal_ignore_keys(terminal.descriptor, descriptor)
        descriptor = -1
    }
}
