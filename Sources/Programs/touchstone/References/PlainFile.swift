import Glibc
import KeychainModel

/// Files written by users: templates and files of variables.
enum PlainFile {
    /// Reads a file to its end; `-` is standard input.
    static func read(_ path: String, upTo limit: Int) throws(CommandError) -> [UInt8] {
        let place = path == "-" ? "standard input" : path
        let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(place) }
        defer { if path != "-" { close(descriptor) } }
        var octets: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 1 << 16)
        while octets.count <= limit {
            let count = unsafe Glibc.read(descriptor, &room, room.count)
            if count == 0 { return octets }
            if count > 0 {
                octets += room[..<count]
                // Such a line lost its rest (termios(3), canonical mode).
                guard count < longestTypedLine || isatty(descriptor) == 0 else { throw cut(place) }
            } else if errno != EINTR {
                throw failure(place)
            }
        }
        throw CommandError("\(place) is too large", hint: "at most \(limit) bytes are read")
    }

    /// The most that a terminal keeps of a line, in bytes with its newline.
    private static let longestTypedLine = 4096

    private static func cut(_ place: String) -> CommandError {
        CommandError("\(place) is a terminal, which cut a line", hint: "name a file, or pipe it in")
    }

    private static func failure(_ place: String) -> CommandError {
        CommandError(
            "cannot read \(place.isEmpty ? "''" : place): \(SystemError.name(of: errno))",
            hint: "name a file that you may read, or - for standard input"
        )
    }
}
