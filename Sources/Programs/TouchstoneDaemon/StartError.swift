import Glibc
import KeychainEngine
import KeychainModel
import PeerSockets
import Primitives
import SecretMemory

/// Why the daemon did not start: what happened and what to do about it, one line each.
struct StartError: Error {
    /// The exit status of a daemon that could not start.
    static let exitStatus: CInt = 1

    let message: String
    let hint: String

    init(_ message: String, hint: String) {
        self.message = message
        self.hint = hint
    }

    /// The socket could not be opened.
    init(_ error: ServerError) {
        let hint =
            switch error.code {
            case .alreadyRunning:
                "it is already running: touchstone status shows its process; stop that one first to start another"
            case .unsafePath:
                "restrict it to the daemon: chown it to the user that runs it, chmod 700 a directory, remove a link"
            case .pathTooLong: "set XDG_RUNTIME_DIR or TOUCHSTONE_HOME to a shorter path"
            case .notASocket: "start the daemon through its socket unit"
            case .system: "look at the system's log and at the directory's permissions"
            }
        self.init(error.detail, hint: hint)
    }

    /// The keychain could not be opened.
    init(_ error: KeychainError, opening path: String) {
        guard error.cause != .notForTests else {
            self.init(
                "the keychain in \(path) was made without test parts, and this daemon is for tests",
                hint: "start touchstoned, or set TOUCHSTONE_HOME to a directory for tests"
            )
            return
        }
        if let place = MovedKeychain.destination(of: error) {
            self.init(movedTo: place, from: path)
            return
        }
        let reason = error.cause.map { "\($0.domain): \($0.code)" } ?? "status \(error.status.rawValue)"
        self.init(
            "the keychain in \(path) cannot be opened (\(reason))",
            hint:
                "the directory must belong to the user that runs the daemon, mode 700, its files with mode 600"
        )
    }

    /// The keychain was moved.
    init(movedTo place: String, from path: String) {
        self.init(
            "the keychain of \(path) has moved to \(place)",
            hint: "touchstone system status says more; sudo touchstone system disable brings it back"
        )
    }

    /// Locked memory for secrets is not available.
    init(_ error: SecretMemoryError) {
        self.init("\(error)", hint: "raise the limit on locked memory (ulimit -l) to 8192 KiB")
    }

    /// The crypto library failed its self-test.
    init(_ failure: SelfTest.Failure) {
        self.init(
            "\(failure.operation.rawValue) does not give its known answer, so nothing is opened",
            hint: "install touchstoned again; if that does not help, test this machine's memory and processor"
        )
    }

    /// Prints both lines on standard error.
    func tell() {
        StandardError.write("error: \(LogLine.plain(message))\nhint: \(LogLine.plain(hint))\n")
    }
}

/// Standard error, without C's buffering.
enum StandardError {
    static func write(_ text: String) {
        var octets = Array(text.utf8)[...]
        while !octets.isEmpty {
            let count = SystemCall.uninterrupted {
                unsafe octets.withUnsafeBytes { unsafe Glibc.write(2, $0.baseAddress, $0.count) }
            }
            if count < 0 { return }
            octets = octets.dropFirst(count)
        }
    }
}
