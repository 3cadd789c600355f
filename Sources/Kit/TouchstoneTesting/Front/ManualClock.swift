import Foundation
import SecretMemory

/// The clock of a ``TemporaryKeychain``: it runs normally, and a test moves it forward.
///
/// Whatever the daemon measures since boot follows it: delays after wrong passcodes, how long a success may be reused,
/// how long until the passcode is required instead of a finger. How long a prompt stays open does not.
public final class ManualClock: Sendable {
    private struct State {
        var offset = Duration.zero
        var files: [String] = []
    }

    private let state = Guarded(State())

    /// Creates a clock that shows the machine's time.
    public init() {}

    /// Moves the clock forward; returns when the daemon sees the new time.
    public func advance(by duration: Duration) {
        state.withLock { state in
            state.offset += duration
            for file in state.files { try? Self.write(state.offset, to: file) }
        }
    }

    /// Moves the clock whose offset, in nanoseconds, is stored in a file.
    func attach(_ file: String) throws {
        try state.withLock { state in
            try Self.write(state.offset, to: file)
            state.files.append(file)
        }
    }

    private static func write(_ offset: Duration, to file: String) throws {
        let (seconds, attoseconds) = offset.components
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        try Data("\(nanoseconds)\n".utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    }
}
