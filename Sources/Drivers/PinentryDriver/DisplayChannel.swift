import Glibc
import KeychainModel

/// The channel of a display, derived from the sockets that its programs connect to.
///
/// A display over TCP (`ssh -X`) has no local socket and so no channel: there the passcode counts, but never a touch
/// alone.
enum DisplayChannel {
    /// The channel of the displays that a place names; nil if one of them cannot be identified.
    static func of(_ place: PromptPlace, runtimeDirectory: String?) -> PromptChannel? {
        guard place.hasDisplay else { return nil }
        var parts: [String] = []
        if let display = place.display {
            guard let socket = socketOfX(display).flatMap(identity) else { return nil }
            parts.append("display \(display) socket \(socket)")
        }
        if let display = place.waylandDisplay {
            let path = display.hasPrefix("/") ? display : runtimeDirectory.map { "\($0)/\(display)" }
            guard let socket = path.flatMap(identity) else { return nil }
            parts.append("display \(display) socket \(socket)")
        }
        return PromptChannel(parts.joined(separator: ", "))
    }

    /// `:1` and `:1.0` are `/tmp/.X11-unix/X1` (X(7), libxcb).
    private static func socketOfX(_ display: String) -> String? {
        guard display.hasPrefix(":") else { return nil }
        let number = display.dropFirst().prefix { $0 != "." }
        guard !number.isEmpty, number.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return "/tmp/.X11-unix/X\(number)"
    }

    /// Identifies a socket, as distinct from a later one of the same name.
    private static func identity(_ path: String) -> String? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return "\(status.st_dev):\(status.st_ino) made \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
    }
}
