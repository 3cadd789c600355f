import Glibc

/// A pinentry program that follows a script: it answers commands as told and records each line it receives.
///
/// It is a shell script, so the driver starts, talks to and ends a real process.
///
/// ```swift
/// let pinentry = try ScriptedPinentry(["GETPIN": "printf 'D secret\\nOK\\n'"])
/// let prompter = PinentryPrompter(program: .testing(pinentry.path))
/// ```
package final class ScriptedPinentry: Sendable {
    /// The program's path.
    package let path: String
    private let directory: TemporaryDirectory

    /// Writes the program into a directory of its own.
    ///
    /// - Parameters:
    ///   - answers: shell commands by the first word of a line, which the script has whole in `$line`; other lines are
    ///     answered `OK`, and `BYE` then ends the program.
    ///   - greeting: shell commands for the greeting.
    /// - Throws: ``TestKitError`` or ``TerminalError`` when the program cannot be written.
    package init(
        _ answers: [String: String] = [:],
        greeting: String = "echo 'OK Pleased to meet you'"
    ) throws {
        directory = try TemporaryDirectory()
        path = directory.appending("pinentry")
        var script = """
            #!/bin/sh
            directory='\(directory.path)'
            echo $$ > "$directory/pid"
            if [ -n "$DISPLAY$WAYLAND_DISPLAY" ] && [ -z "$CONNECTED" ]; then
                tr '\\0' '\\n' < /proc/$$/environ > "$directory/environment"
                # As a program does that draws on a display; the shell has no sockets. Perl keeps descriptors up to $^F.
                exec perl -MSocket -e 'BEGIN { $^F = 255 } $ENV{CONNECTED} = 1;
                    my ($number) = ($ENV{DISPLAY} // "") =~ /^:(\\d+)/;
                    my $path = defined $number ? "/tmp/.X11-unix/X$number" : $ENV{WAYLAND_DISPLAY} // "";
                    $path = "$ENV{XDG_RUNTIME_DIR}/$path" if $path !~ m{^/};
                    socket(DISPLAY, AF_UNIX, SOCK_STREAM, 0);
                    connect(DISPLAY, sockaddr_un($path));
                    exec("/bin/sh", @ARGV)' "$0"
            fi
            [ -n "$CONNECTED" ] || tr '\\0' '\\n' < /proc/$$/environ > "$directory/environment"
            \(greeting)
            while IFS= read -r line; do
                printf '%s\\n' "$line" >> "$directory/received"
                case "${line%% *}" in

            """
        for (command, answer) in answers { script += "    \(command)) \(answer) ;;\n" }
        script += "    BYE) echo OK; exit 0 ;;\n    *) echo OK ;;\n    esac\ndone\n"
        try write(Array(script.utf8))
    }

    /// The lines it received.
    package var received: [String] { lines("received") }

    /// Its environment when it started, as `NAME=value`.
    package var environment: [String] { lines("environment") }

    /// The lines its script wrote to `$directory/notes`.
    package var notes: [String] { lines("notes") }

    /// Its process ID; nil before it was started.
    package var processIdentifier: Int32? { lines("pid").first.flatMap { Int32($0) } }

    private func lines(_ name: String) -> [String] {
        let file = unsafe open(directory.appending(name), O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var octets: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 16 * 1024)
        while case let count = unsafe read(file, &room, room.count), count > 0 { octets += room[..<count] }
        return octets.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    private func write(_ script: [UInt8]) throws {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o700)
        guard file >= 0 else { throw TerminalError.system(errno) }
        let count = unsafe Glibc.write(file, script, script.count)
        close(file)
        guard count == script.count else { throw TerminalError.system(ENOSPC) }
        try waitUntilNobodyWrites()
    }

    /// Waits until no process has the file open for writing, because executing it would fail (`ETXTBSY`).
    ///
    /// A process that another thread is just starting holds a copy of our descriptor for a moment; the kernel grants a
    /// read lease once no writer is left.
    private func waitUntilNobodyWrites() throws {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw TerminalError.system(errno) }
        defer { close(file) }
        let deadline = ContinuousClock.now + Deadline.patience
        // F_SETLEASE, which glibc defines under _GNU_SOURCE only.
        let setLease: CInt = 1024
        while fcntl(file, setLease, CInt(F_RDLCK)) != 0 {
            guard errno == EAGAIN, ContinuousClock.now < deadline else { throw TerminalError.system(errno) }
            sched_yield()
        }
        _ = fcntl(file, setLease, CInt(F_UNLCK))
    }
}
