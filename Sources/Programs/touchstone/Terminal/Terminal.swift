import Glibc
import KeychainModel
import SecretMemory

/// The user's terminal, even if standard input and output are redirected.
struct Terminal: ~Copyable {
    /// How long after a line's end more input shows that several lines were pasted, in milliseconds.
    private static let pastePatience: CInt = 100

    private let descriptor: CInt

    /// Opens the controlling terminal; nil when there is none.
    init?() {
        let descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Asks a question that the user answers with a short line, `y` for example; nil at the end of input.
    borrowing func ask(_ question: String) throws(CommandError) -> String? {
        guard let signals = CaughtSignals() else { throw Self.failure() }
        while true {
            write(question)
            if try waitForInput(unless: signals) {
                var room = [UInt8](repeating: 0, count: 4096)
                let count = unsafe read(descriptor, &room, room.count)
                return count > 0 ? String(decoding: room[..<count], as: UTF8.self) : nil
            }
            // A stopped program that continues asks again.
            signals.deliver()
        }
    }

    /// Asks a question on the terminal, and throws unless the user says yes.
    ///
    /// - Parameters:
    ///   - question: the question, with its mark.
    ///   - outcome: what the error says of the rest: `nothing was deleted`.
    /// - Throws: ``CommandError`` with the exit status of a cancelled prompt, or, without a terminal, of one that cannot be shown.
    static func confirm(_ question: String, otherwise outcome: String) throws(CommandError) {
        guard let terminal = Terminal() else {
            throw CommandError(
                "there is no terminal to ask on; \(outcome)",
                hint: "say --yes to do it without being asked",
                exitCode: .notInteractive
            )
        }
        let answer = try terminal.ask("\(question) [y/N] ") ?? ""
        guard ["y\n", "Y\n", "yes\n"].contains(answer) else {
            throw CommandError(outcome, exitCode: .cancelled)
        }
    }

    /// Reads a secret without echo: a line of any length, or several that are pasted.
    ///
    /// - Throws: ``CommandError`` with the status of a cancellation at the end of input, and for what could only be taken
    ///   in part.
    borrowing func readSecret(_ question: String, upTo limit: Int) throws(CommandError) -> SecretBytes {
        guard let signals = CaughtSignals() else { throw Self.failure() }
        while true {
            if let secret = try readSecret(question, upTo: limit, unless: signals) { return secret }
            // The echo is restored. A stopped program that continues asks again.
            signals.deliver()
        }
    }

    /// Reads a secret; nil when a signal came first.
    private borrowing func readSecret(
        _ question: String,
        upTo limit: Int,
        unless signals: borrowing CaughtSignals
    ) throws(CommandError) -> SecretBytes? {
        guard let mode = TypingMode(descriptor) else { throw Self.failure() }
        // Restored at the end of the scope, which is also what keeps it alive.
        defer { extendLifetime(mode) }
        var typed = try TypedSecret(mode.keys)
        write(question)
        defer { write("\n") }
        var piece = try CommandMemory.buffer(4096)
        while true {
            guard try waitForInput(unless: signals) else { return nil }
            piece.removeAll(keepingCapacity: true)
            let count = unsafe piece.append(upTo: 4096) { room in
                unsafe max(0, read(descriptor, room.baseAddress, room.count))
            }
            // A closed terminal reads as the end of input.
            guard count > 0 else { throw Self.cancelled }
            for index in 0..<count {
                let octet = piece.withOctets { $0[index] }
                switch try typed.take(octet) {
                case .goesOn: break
                case .isCancelled: throw Self.cancelled
                case .isRefused: throw try refusal(Self.noText, signals)
                case .isComplete:
                    guard index + 1 == count, try !waitForInput(unless: signals, Self.pastePatience) else {
                        throw try refusal(Self.severalLines, signals)
                    }
                    return signals.hasCaught ? nil : try typed.finish()
                }
            }
            guard typed.count <= limit else { throw try refusal(SecretInput.tooLarge, signals) }
        }
    }

    /// The error for input of which the rest is discarded, once no more comes: the shell would run it.
    private borrowing func refusal(
        _ error: CommandError,
        _ signals: borrowing CaughtSignals
    ) throws(CommandError) -> CommandError {
        repeat { tcflush(descriptor, TCIFLUSH) } while try waitForInput(unless: signals, Self.pastePatience)
        return error
    }

    /// Waits for input; false when a signal came first, or after `patience` milliseconds.
    private borrowing func waitForInput(
        unless signals: borrowing CaughtSignals,
        _ patience: CInt = -1
    ) throws(CommandError) -> Bool {
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let count = unsafe poll(&entries, nfds_t(entries.count), patience)
            guard count >= 0 || errno == EINTR else { throw Self.failure() }
            if signals.hasCaught || count == 0 { return false }
            if count > 0, entries[0].revents != 0 { return true }
        }
    }

    /// Writes a question; names in it are not trusted.
    private borrowing func write(_ text: String) {
        var text = text == "\n" ? text : Printable.text(text)
        text.withUTF8 { octets in
            _ = unsafe Glibc.write(descriptor, octets.baseAddress, octets.count)
        }
    }

    private static var cancelled: CommandError { CommandError("cancelled", exitCode: .cancelled) }

    private static var severalLines: CommandError {
        CommandError(
            "more input came after the first line; nothing was stored",
            hint:
                "several lines come from a file: touchstone set --from-file FILE NAME; or from an editor, after a first value: touchstone edit NAME"
        )
    }

    private static var noText: CommandError {
        CommandError(
            "a key was pressed that is no text, such as an arrow; nothing was stored",
            hint: "try again; any bytes come from a file: touchstone set --from-file FILE NAME"
        )
    }

    private static func failure() -> CommandError {
        CommandError("cannot use the terminal: \(SystemError.name(of: errno))")
    }
}
