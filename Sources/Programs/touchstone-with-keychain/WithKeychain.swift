import Foundation
import TouchstoneTesting

/// Runs a command, such as `swift test`, with a keychain of its own.
///
/// The parts are a daemon for tests, a sensor with an enrolled finger, and a person who touches it and knows the passcode; all end
/// with the command.
@main
struct WithKeychain {
    private static let usage = """
        usage: touchstone-with-keychain [--without-sensor] COMMAND [ARGUMENT...]

        Runs COMMAND with a keychain of its own, which is set up and unlocked: the programs that it starts find it by
        TOUCHSTONE_HOME. At prompts a finger touches the sensor or, where no finger counts, the passcode is typed.
        --without-sensor: the machine has no fingerprint sensor; fprintd need not be installed.

        The exit status is that of COMMAND; 64 for a wrong use of this program, 69 if the keychain cannot be started,
        127 if there is no such command.

        """

    /// Not asynchronous: the main thread of an asynchronous program waits with all signals open, so that none can be held.
    static func main() {
        var command = Array(CommandLine.arguments.dropFirst())
        let hasSensor = command.first != "--without-sensor"
        if !hasSensor { command.removeFirst() }
        guard let name = command.first, !name.isEmpty, !name.hasPrefix("-") else {
            let isHelp = command.first == "--help"
            (isHelp ? FileHandle.standardOutput : .standardError).write(Data(usage.utf8))
            exit(isHelp ? 0 : 64)
        }
        do {
            let signals = try ForwardedSignals()
            Task.detached { [command] in
                do {
                    let reader: TestReader? = hasSensor ? .image : nil
                    exit(try await run(command, reader) { signals.forward(to: $0) })
                } catch {
                    fail(error)
                }
            }
            // Until the task exits.
            while true { pause() }
        } catch {
            fail(error)
        }
    }

    private static func fail(_ error: any Error) -> Never {
        FileHandle.standardError.write(Data("touchstone-with-keychain: \(error)\n".utf8))
        exit(69)
    }

    /// Returns once the keychain has ended.
    private static func run(
        _ command: [String],
        _ reader: TestReader?,
        whenStarted: @Sendable (Int32) -> Void
    ) async throws(TestKitError) -> Int32 {
        try await TemporaryKeychain(reader: reader).run(command, whenStarted: whenStarted)
    }
}
