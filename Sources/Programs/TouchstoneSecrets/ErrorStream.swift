import Glibc

/// Standard error, which the service manager or a terminal shows.
enum ErrorStream {
    /// Writes whole lines.
    static func write(_ lines: String) {
        let octets = Array(lines.utf8)
        _ = unsafe Glibc.write(STDERR_FILENO, octets, octets.count)
    }
}
