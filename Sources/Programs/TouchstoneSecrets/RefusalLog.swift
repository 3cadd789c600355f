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

    private static let pause = Duration.seconds(60)
    /// The most kinds remembered; beyond it nothing is told until the first of them is a minute old.
    private static let mostKinds = 64
    /// The errors that a program causes by what it says; that something is locked or gone is no fault of its own.
    private static let errors: Set<String> = [
        "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.LimitsExceeded",
        "org.freedesktop.DBus.Error.NotSupported", "org.freedesktop.Secret.Error.NoSession",
    ]

    /// When each kind was told, in the last minute.
    private let told = Guarded<[Kind: ContinuousClock.Instant]>([:])

    /// Writes a line for a refused call, unless there was one.
    func note(_ fault: BusFault, of member: String, by process: Int32) {
        guard Self.errors.contains(fault.name) else { return }
        let kind = Kind(process: process, error: fault.name)
        let isNew = told.withLock { told in
            let now = ContinuousClock.now
            told = told.filter { now - $0.value < Self.pause }
            guard told[kind] == nil, told.count < Self.mostKinds else { return false }
            told[kind] = now
            return true
        }
        guard isNew else { return }
        // D-Bus lets a member have letters, digits and underscores alone.
        let program = NameOwner.name(of: process).unicodeScalars.filter {
            $0.isASCII && $0.value > 0x20 && $0.value < 0x7F
        }
        ErrorStream.write(
            "refused: \(member) of \(String(String.UnicodeScalarView(program))), process \(process): \(fault.name)\n"
        )
    }
}
