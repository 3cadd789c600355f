import Glibc
import SecretMemory

/// Tells on standard error, which a service's manager keeps, of calls that no program should make: of a foreign session, with wrong
/// arguments, beyond a limit.
///
/// One line for each program and error in a minute, and no text of the program's but its name, so that none fills the log.
final class RefusalLog: Sendable {
    private struct Kind: Hashable {
        let process: Int32
        let error: String
    }

    private struct State {
        var start = ContinuousClock.now
        var told: Set<Kind> = []
    }

    private static let pause = Duration.seconds(60)
    private static let mostLines = 64
    /// The errors that a program causes by what it says; that something is locked or gone is no fault of its own.
    private static let errors: Set<String> = [
        "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.LimitsExceeded",
        "org.freedesktop.DBus.Error.NotSupported", "org.freedesktop.Secret.Error.NoSession",
    ]

    private let state = Guarded(State())

    /// Writes a line for a refused call, unless there was one.
    func note(_ fault: BusFault, of member: String, by process: Int32) {
        guard Self.errors.contains(fault.name) else { return }
        let kind = Kind(process: process, error: fault.name)
        let isNew = state.withLock { state in
            if ContinuousClock.now - state.start > Self.pause { state = State() }
            return state.told.count < Self.mostLines && state.told.insert(kind).inserted
        }
        guard isNew else { return }
        // D-Bus lets a member have letters, digits and underscores alone.
        let program = NameOwner.name(of: process).unicodeScalars.filter {
            $0.isASCII && $0.value > 0x20 && $0.value < 0x7F
        }
        let line =
            "refused: \(member) of \(String(String.UnicodeScalarView(program))), process \(process): \(fault.name)\n"
        let octets = Array(line.utf8)
        _ = unsafe write(STDERR_FILENO, octets, octets.count)
    }
}
