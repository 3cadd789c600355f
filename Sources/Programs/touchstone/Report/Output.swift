import Glibc
import KeychainModel

/// Standard output and standard error, unbuffered and written completely.
enum Output {
    /// Writes a line to standard output.
    ///
    /// A failure ends the program: later output would not be seen either.
    static func print(_ line: String) {
        do {
            try write(line + "\n")
        } catch {
            Report.end(error)
        }
    }

    /// Writes a line to standard error; a failure is ignored, because it cannot be reported anywhere.
    static func complain(_ line: String) {
        var text = line + "\n"
        text.withUTF8 { octets in
            _ = unsafe Descriptor.write(UnsafeRawBufferPointer(octets), to: STDERR_FILENO)
        }
    }

    /// Writes bytes to standard output.
    static func write(_ octets: UnsafeRawBufferPointer) throws(CommandError) {
        guard unsafe Descriptor.write(octets, to: STDOUT_FILENO) else {
            throw CommandError("cannot write to standard output: \(SystemError.name(of: errno))")
        }
    }

    private static func write(_ text: String) throws(CommandError) {
        var text = text
        let failure: CommandError? = text.withUTF8 { octets in
            do throws(CommandError) {
                try unsafe write(UnsafeRawBufferPointer(octets))
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}
