import Glibc
import KeychainModel
import SecretMemory

/// Reads a new secret; never from an argument, which every user of the machine can read.
enum SecretInput {
    /// Reads a file if one is named, standard input if that is no terminal, and otherwise what `typed` reads on the terminal.
    ///
    /// The error without a terminal says what is read (`noun`), and the options that name another source (`ways`).
    static func read(
        _ file: String?,
        isExact: Bool = false,
        noun: String,
        ways: String,
        typed: (borrowing Terminal) throws(CommandError) -> SecretBytes
    ) throws(CommandError) -> SecretBytes {
        if let file { return try self.file(file, isExact: isExact) }
        guard isatty(STDIN_FILENO) == 1 else { return try standardInput(isExact: isExact) }
        guard let terminal = Terminal() else {
            throw CommandError(
                "there is no terminal to type the \(noun) on",
                hint: "pipe it in, or name a file: \(ways)",
                exitCode: .notInteractive
            )
        }
        return try typed(terminal)
    }

    /// Reads standard input, which is not a terminal, to its end.
    static func standardInput(isExact: Bool) throws(CommandError) -> SecretBytes {
        try read(STDIN_FILENO, from: "standard input", isExact: isExact)
    }

    /// Reads a file to its end.
    static func file(_ path: String, isExact: Bool) throws(CommandError) -> SecretBytes {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        return try read(descriptor, from: path, isExact: isExact)
    }

    /// Asks twice on the terminal, without echo, for `subject`.
    static func terminal(
        _ terminal: borrowing Terminal,
        for subject: String,
        isExact: Bool
    ) throws(CommandError) -> SecretBytes {
        let first = try trimmed(
            terminal.readSecret("\(subject): ", upTo: longest),
            isExact: isExact
        )
        let second = try trimmed(terminal.readSecret("The same again: ", upTo: longest), isExact: isExact)
        guard first.matches(second) else {
            throw CommandError("the two were not the same; nothing was stored", hint: "try again")
        }
        return first
    }

    /// Reads the file that an editor wrote, which may be empty.
    static func edited(_ path: String, keepsNewline: Bool) throws(CommandError) -> SecretBytes {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        guard let secret = try Descriptor.read(descriptor, upTo: ItemLimits.longestData + 1) else {
            throw tooLarge
        }
        let length = secret.withOctets { octets in
            let endsWithNewline = octets.count > 0 && octets[octets.count - 1] == UInt8(ascii: "\n")
            return endsWithNewline && !keepsNewline ? octets.count - 1 : octets.count
        }
        guard length <= ItemLimits.longestData else { throw tooLarge }
        return try secret.withOctets { octets throws(CommandError) in
            try CommandMemory.copy(octets.extracting(..<length))
        }
    }

    /// One byte more than the limit: the newline that is stripped.
    private static let longest = ItemLimits.longestData + 1

    private static var empty: CommandError {
        CommandError(
            "the secret is empty; nothing was stored",
            hint: "check the command or the file it comes from"
        )
    }

    private static func read(
        _ descriptor: CInt,
        from place: String,
        isExact: Bool
    ) throws(CommandError) -> SecretBytes {
        var buffer = try CommandMemory.buffer(4096)
        while buffer.count <= longest {
            var result = 0
            let room = max(4096, buffer.capacity - buffer.count)
            try CommandMemory.reserve(buffer.count + room, in: &buffer)
            _ = unsafe buffer.append(upTo: room) { room in
                result = unsafe Glibc.read(descriptor, room.baseAddress, room.count)
                return max(0, result)
            }
            if result == 0 { return try trimmed(CommandMemory.finish(buffer), isExact: isExact) }
            if result < 0 && errno != EINTR { throw failure(place) }
        }
        throw tooLarge
    }

    /// The secret without one newline at its end; neither empty nor too large.
    private static func trimmed(_ secret: consuming SecretBytes, isExact: Bool) throws(CommandError)
        -> SecretBytes
    {
        let length = secret.withOctets { octets in
            let endsWithNewline = octets.count > 0 && octets[octets.count - 1] == UInt8(ascii: "\n")
            return endsWithNewline && !isExact ? octets.count - 1 : octets.count
        }
        guard length > 0 else { throw empty }
        guard length <= ItemLimits.longestData else { throw tooLarge }
        if length == secret.count { return secret }
        return try secret.withOctets { octets throws(CommandError) in
            try CommandMemory.copy(octets.extracting(..<length))
        }
    }

    static var tooLarge: CommandError {
        CommandError(
            "the secret is too large; nothing was stored",
            hint: "at most \(ItemLimits.longestData) bytes fit"
        )
    }

    private static func failure(_ place: String) -> CommandError {
        CommandError(
            "cannot read \(place.isEmpty ? "''" : place): \(SystemError.name(of: errno))",
            hint: "pipe the secret in, or name a file that you may read: --from-file FILE"
        )
    }
}
