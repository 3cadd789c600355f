import Glibc
import KeychainModel

/// A prompt for a touch that this process itself draws on a terminal.
///
/// Nothing is typed into it, so it needs no other program, which the user running it could trace. It shows the same
/// text as the other prompts and takes a key for each button; the text stays on the screen.
struct TerminalTouchBox: ~Copyable {
    /// The key for the only fallback button; of several each has its number as key.
    static let fallbackKey: UInt8 = UInt8(ascii: "p")
    private static let escape: UInt8 = 0x1B
    /// How long the rest of a key's escape sequence may take, in milliseconds.
    private static let escapePause: CInt = 50
    /// The longest line, even if the terminal has more columns.
    private static let mostColumns = 76

    private let prompt: Prompt
    private let terminal: PinentryTerminal
    private let flavor: PinentryFlavor
    private let readingPause: Duration
    private let cancel: ThreadSignal
    private let deadline: ContinuousClock.Instant

    /// Opens the terminal of the request.
    ///
    /// - Throws: ``PromptError`` with `notInteractive`.
    init(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        user: UInt32,
        readingPause: Duration,
        cancel: ThreadSignal
    ) throws(PromptError) {
        let place = PromptPlace(origin)
        guard let name = place.terminal else { throw PromptError(.notInteractive, detail: "no terminal") }
        terminal = try PinentryTerminal(path: name, owner: user, client: origin.client)
        flavor = PinentryFlavor(name: "", drawsASCII: !place.takesUTF8, words: place.words)
        self.prompt = prompt
        self.readingPause = readingPause
        self.cancel = cancel
        deadline = ContinuousClock.now + .seconds(prompt.timeoutInSeconds)
    }

    /// Shows the prompt and waits for its end; the terminal is restored afterwards.
    ///
    /// - Throws: ``PromptError``.
    consuming func run(whenShown: (() -> PromptChannel?) -> Void) throws(PromptError) -> PromptAnswer {
        _ = try terminal.look()
        terminal.takeKeys()
        defer { terminal.restore(wasKilled: true, drewScreen: false) }
        do throws(ExchangeFailure) {
            try draw()
            // Keys that come before the text could have been read are meant for something else.
            let keysCount = ContinuousClock.now + readingPause
            let terminal = terminal
            whenShown { terminal.channel }
            return try answer(from: keysCount)
        } catch {
            throw error.promptError
        }
    }

    // MARK: Text

    /// The fallback buttons: their keys and titles.
    private var fallbacks: [(key: UInt8, title: String)] {
        let titles = prompt.fallbackTitles ?? [flavor.words("Use Passcode\u{2026}")]
        guard titles.count > 1 else { return titles.map { (Self.fallbackKey, $0) } }
        return titles.prefix(PromptDetails.mostFallbacks).enumerated().map {
            (UInt8(ascii: "1") + UInt8($0.offset), $0.element)
        }
    }

    /// The lines, without a final line end.
    private var text: String {
        let cancel = prompt.cancelTitle.flatMap { $0.isEmpty ? nil : $0 } ?? flavor.words("Cancel")
        var buttons = ["[Esc] \(PromptText.label(cancel))"]
        buttons += fallbacks.map {
            "[\(Unicode.Scalar($0.key))] \(PromptText.label($0.title))"
        }
        if flavor.drawsASCII { buttons = buttons.map(PromptText.ascii) }
        let columns = min(max(20, terminal.columns - 1), Self.mostColumns)
        let lines = PromptDescription.text(of: prompt, flavor: flavor).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let broken = lines.map { PromptText.broken(String($0), columns: columns, indent: "  ") }
        let row = buttons.joined(separator: "   ")
        return "\n"
            + (broken + [""] + (PromptText.columns(of: row) <= columns ? [row] : buttons)).joined(
                separator: "\n"
            )
    }

    private func draw() throws(ExchangeFailure) {
        // The terminal's modes may not translate a line feed.
        let octets = Array(text.replacing("\n", with: "\r\n").utf8)
        var written = 0
        while written < octets.count {
            _ = try wait(for: Int16(POLLOUT))
            let rest = Array(octets[written...])
            let count = unsafe write(terminal.descriptor, rest, rest.count)
            if count > 0 { written += count }
            guard count > 0 || errno == EAGAIN || errno == EINTR else { throw .system(errno: errno) }
        }
    }

    // MARK: Keys

    private func answer(from start: ContinuousClock.Instant) throws(ExchangeFailure) -> PromptAnswer {
        var readsKeys = true
        do throws(ExchangeFailure) {
            while true {
                guard try wait(for: readsKeys ? Int16(POLLIN) : 0) else { continue }
                var keys = [UInt8](repeating: 0, count: 64)
                let count = unsafe read(terminal.descriptor, &keys, keys.count)
                if count < 0 {
                    // A background process group cannot read keys; a touch still counts.
                    if errno == EIO { readsKeys = false }
                    continue
                }
                guard ContinuousClock.now >= start else { continue }
                if let answer = answer(to: keys[..<count]) { return answer }
            }
        } catch {
            if error == .timedOut { return .timedOut }
            throw error
        }
    }

    /// The answer for typed keys; nil for keys without a meaning.
    private func answer(to keys: ArraySlice<UInt8>) -> PromptAnswer? {
        var keys = keys
        while let key = keys.popFirst() {
            if let index = fallbacks.firstIndex(where: { $0.key == key }) { return .fallback(index) }
            guard key == Self.escape else { continue }
            // A lone escape: other keys send more bytes after it, up to a letter or a tilde (ECMA-48, 5.4).
            guard let next = keys.first else { return isMoreToCome ? nil : .cancelled }
            if next == Self.escape { return .cancelled }
            guard next == UInt8(ascii: "[") || next == UInt8(ascii: "O") else { continue }
            keys.removeFirst()
            while let part = keys.popFirst(), part < 0x40 {}
        }
        return nil
    }

    private var isMoreToCome: Bool {
        var watched = pollfd(fd: terminal.descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, Self.escapePause) > 0
    }

    /// Waits for the terminal; false if it is not ready yet.
    private func wait(for events: Int16) throws(ExchangeFailure) -> Bool {
        var watched = [
            pollfd(fd: cancel.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: terminal.descriptor, events: events, revents: 0),
        ]
        let timeout = min(deadline.pollTimeout, AssuanConnection.backgroundCheckMilliseconds)
        let count = unsafe poll(&watched, nfds_t(watched.count), timeout)
        if count == 0, terminal.isInBackground { throw .inBackground }
        if watched[0].revents != 0 { throw .cancelled }
        if watched[1].revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { throw .terminalGone }
        if count > 0 { return true }
        if ContinuousClock.now >= deadline { throw .timedOut }
        return false
    }
}
