import Glibc
import KeychainModel
import SecretMemory

/// The user's terminal, even if standard input and output are redirected.
struct Terminal: ~Copyable {
    private let descriptor: CInt

    /// Opens the controlling terminal; nil when there is none.
    init?() {
        let descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Asks a question that the user answers with a line; nil at the end of input.
    borrowing func ask(_ question: String) throws(CommandError) -> String? {
        let line = try readLine(asking: question, echoes: true)
        return line.withOctets { octets in
            guard octets.count > 0 else { return nil }
            return unsafe octets.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Reads a line without echo, and returns it without its newline.
    ///
    /// - Throws: ``CommandError`` with the status of a cancellation at the end of input.
    borrowing func readSecret(_ question: String) throws(CommandError) -> SecretBytes {
        let line = try readLine(asking: question, echoes: false)
        write("\n")
        return try line.withOctets { octets throws(CommandError) in
            guard octets.count > 0, octets[octets.count - 1] == UInt8(ascii: "\n") else {
                throw CommandError("cancelled", exitCode: .cancelled)
            }
            return try CommandMemory.copy(octets.extracting(..<(octets.count - 1)))
        }
    }

    /// Reads one line with its newline; empty at the end of input.
    ///
    /// The kernel delivers a whole line of at most 4095 bytes (termios(3), canonical mode).
    private borrowing func readLine(asking question: String, echoes: Bool) throws(CommandError) -> SecretBytes
    {
        guard let signals = CaughtSignals() else { throw Self.failure() }
        while true {
            if let line = try readLine(asking: question, echoes: echoes, unless: signals) { return line }
            // The echo is restored. A stopped program that continues asks again.
            signals.deliver()
        }
    }

    /// Reads one line; nil when a signal came first.
    private borrowing func readLine(
        asking question: String,
        echoes: Bool,
        unless signals: borrowing CaughtSignals
    ) throws(CommandError) -> SecretBytes? {
        // Before any input: a secret that cannot be stored is not asked for.
        var buffer = try CommandMemory.buffer(4096)
        let mode = EchoMode(descriptor, echoes: echoes)
        defer { mode.restore() }
        write(question)
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let count = unsafe poll(&entries, nfds_t(entries.count), -1)
            guard count > 0 || errno == EINTR else { throw Self.failure() }
            if signals.hasCaught { return nil }
            if count > 0, entries[0].revents != 0 { break }
        }
        let count = unsafe buffer.append(upTo: 4096) { room in
            unsafe max(0, read(descriptor, room.baseAddress, room.count))
        }
        // A closed terminal reads as the end of input.
        return count == 0 ? SecretBytes(copying: []) : try CommandMemory.finish(buffer)
    }

    private borrowing func write(_ text: String) {
        var text = text
        text.withUTF8 { octets in
            _ = unsafe Glibc.write(descriptor, octets.baseAddress, octets.count)
        }
    }

    private static func failure() -> CommandError {
        CommandError("cannot use the terminal: \(SystemError.name(of: errno))")
    }
}

/// The terminal's echo, off while a secret is typed.
private struct EchoMode {
    private let descriptor: CInt
    private let before: termios?

    init(_ descriptor: CInt, echoes: Bool) {
        self.descriptor = descriptor
        var mode = termios()
        guard !echoes, unsafe tcgetattr(descriptor, &mode) == 0 else {
            before = nil
            return
        }
        before = mode
        mode.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
        // Discards input typed before the question, which was meant for something else.
        unsafe tcsetattr(descriptor, TCSAFLUSH, &mode)
    }

    func restore() {
        guard var before else { return }
        unsafe tcsetattr(descriptor, TCSAFLUSH, &before)
    }
}
