import ArgumentParser
import Glibc
import KeychainModel
import SecretMemory

/// The desktop's clipboard, cleared after a time.
struct Clipboard {
    /// Seconds until it is cleared, by default.
    static let usualSeconds = 45
    /// The maximum number of seconds.
    static let mostSeconds = 3600

    private let program: ClipboardProgram
    private let path: String
    private let seconds: Int

    /// Finds the program for the clipboard, before the user is prompted.
    ///
    /// - Throws: ``CommandError`` with the status "not available".
    init(seconds: Int) throws(CommandError) {
        (program, path) = try ClipboardProgram.find()
        self.seconds = seconds
    }

    /// Copies a secret, and starts a process that clears the clipboard later if it still holds the secret.
    func copy(_ secret: borrowing SecretBytes) throws(CommandError) {
        var input = try Pipe()
        var report = try Pipe()
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { if null >= 0 { close(null) } }
        let keeper = try ChildProgram(
            "/proc/self/exe",
            ["touchstone", ClipboardKeeper.argument, program.rawValue, path, String(seconds)],
            input: input.readEnd,
            output: report.writeEnd,
            errors: null
        )
        input.closeReadEnd()
        report.closeWriteEnd()
        _ = signal(SIGPIPE, SIG_IGN)
        _ = Descriptor.write(secret, to: input.writeEnd)
        input.closeWriteEnd()
        let deadline = ContinuousClock.now + ClipboardKeeper.patience + .seconds(5)
        let answer = try Descriptor.read(report.readEnd, upTo: 1024, until: deadline)
        // The process exits later; the command does not wait for it.
        _ = keeper.processID
        guard answer.takeText() == ClipboardKeeper.done else {
            throw CommandError(
                "\(program.rawValue) could not copy to the clipboard",
                hint: "check that the display can be reached: \(program.rawValue) < /dev/null"
            )
        }
        Output.complain(
            "Copied to the clipboard; it is cleared in \(DateText.duration(seconds: Int64(seconds)))."
        )
    }
}

extension Optional where Wrapped == SecretBytes {
    /// The bytes as text, for output that is not secret.
    fileprivate consuming func takeText() -> String {
        guard let octets = self else { return "" }
        return octets.withOctets { octets in
            unsafe octets.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }
}
