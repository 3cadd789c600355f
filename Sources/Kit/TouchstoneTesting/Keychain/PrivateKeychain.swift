package import KeychainClient
package import KeychainModel
import SecretMemory

/// A private keychain: the real daemon in a temporary directory, and a person who knows the passcode.
///
/// ```swift
/// let keychain = try await PrivateKeychain.ready()
/// try keychain.client.add(item)
/// ```
///
/// The daemon's key derivation is reduced and a script answers its prompts, so its assurance is `test`.
package final class PrivateKeychain: Sendable {
    /// The passcode that the person types.
    package static let passcode = "marble lantern orchid tundra velvet"

    /// The directory of all files.
    package let home: TemporaryDirectory
    /// The same directory as client and daemon describe it.
    package let layout: Layout
    /// A client that starts no daemon by itself.
    package let client: RemoteKeychain

    /// The private bus, kept alive for the daemon.
    private let bus: PrivateBus?
    /// Variables for the daemon.
    private let environment: [String: String]
    private let lines: [String]
    private let terminal: PseudoTerminal
    private let pinentry: ScriptedPinentry
    private let daemon = Guarded<ChildProcess?>(nil)

    /// Settings with which the daemon checkpoints its log into the file only at an orderly end, however long a test
    /// takes.
    package static let keepsLog = ["test.idle-delay = 86400", "test.purge-delay = 86400"]

    /// Creates the directory and the configuration; nothing runs yet.
    ///
    /// - Parameters:
    ///   - bus: the system bus with fprintd; nil for none.
    ///   - tpm: a chip's transport, for example ``TPMRecorder/tcti``; nil for keys in software.
    ///   - settings: more lines for the daemon's configuration.
    ///   - environment: more variables for the daemon.
    /// - Throws: ``TestKitError`` or ``TerminalError`` when a file or a terminal cannot be created.
    package convenience init(
        bus: PrivateBus? = nil,
        tpm: String? = nil,
        settings: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        try self.init(bus: bus, tpm: tpm, settings: settings, environment: environment) { home in
            try ScriptedPinentry.owner(passcode: Self.passcode, home: home)
        }
    }

    /// Creates the same, with another pinentry program for the person.
    init(
        bus: PrivateBus?,
        tpm: String?,
        settings: [String],
        environment: [String: String] = [:],
        pinentry: (_ home: String) throws -> ScriptedPinentry
    ) throws {
        self.bus = bus
        self.environment = environment
        home = try TemporaryDirectory()
        let path = home.path
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? path : nil }) else {
            throw TestKitError.unexpected("no layout for \(path)")
        }
        self.layout = layout
        terminal = try PseudoTerminal()
        self.pinentry = try pinentry(path)
        lines =
            [
                "test.pinentry-program = \(self.pinentry.path)",
                "test.scrypt-log2-rounds = 10",
                "test.system-bus-address = \(bus?.address ?? "unix:path=\(path)/no-bus")",
                "idle-exit = 0",
            ] + settings
        client = RemoteKeychain(layout: layout, daemon: .none)
        try use(tpm: tpm)
    }

    deinit { daemon.withLock { $0?.stop() } }

    /// Creates a keychain that is set up and unlocked.
    package static func ready(
        bus: PrivateBus? = nil,
        tpm: String? = nil,
        settings: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> PrivateKeychain {
        let keychain = try PrivateKeychain(bus: bus, tpm: tpm, settings: settings, environment: environment)
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        return keychain
    }

    /// Sets the keychain's TPM, or none, from the daemon's next start on.
    package func use(tpm: String?) throws {
        let chip = tpm.map { ["test.tpm = \($0)"] } ?? ["tpm = off"]
        _ = try home.write((lines + chip).joined(separator: "\n") + "\n", to: "touchstoned.conf")
    }

    /// The prompt fields of this keychain's requests.
    package func prompt(_ reason: String = "a test") -> PromptFields {
        PromptFields(origin: PromptOrigin(terminal: terminal.name, terminalType: "xterm"), reason: reason)
    }

    /// The prompt fields of requests whose boxes appear on a display.
    package func prompt(on display: DisplaySocket, _ reason: String = "a test") -> PromptFields {
        PromptFields(origin: PromptOrigin(display: display.name), reason: reason)
    }

    /// The number of boxes shown so far.
    package var prompts: Int { pinentry.notes.count }

    /// The daemon's process ID; 0 when none runs.
    package var processID: Int32 { daemon.withLock { $0?.processID ?? 0 } }

    /// Whether the daemon runs.
    package var isRunning: Bool { daemon.withLock { $0?.isRunning ?? false } }

    /// How the present daemon ended, as waitpid(2) describes it; nil while it runs, and when it was stopped.
    var end: Int32? { daemon.withLock { $0?.status } }

    /// Starts the daemon and waits until it listens.
    ///
    /// - Parameter wrapper: a command that runs the daemon, for example `strace` with its options.
    /// - Throws: ``TestKitError`` when the daemon is not built, exits, or does not listen in time.
    package func start(through wrapper: [String] = []) async throws {
        try Programs.checkDaemon()
        let command = wrapper + [Programs.touchstoned, "--foreground"]
        let process = try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: environment.merging(["TOUCHSTONE_HOME": home.path, "HOME": home.path]) { $1 },
            log: home.appending("daemon.stderr")
        )
        daemon.withLock { $0 = process }
        try await Deadline.wait(for: "the daemon's socket") {
            if (try? client.status()) != nil { return true }
            guard process.isRunning else { throw TestKitError.unexpected("the daemon ended") }
            return nil
        }
    }

    /// Ends the daemon by a signal and waits until it and its prompt program have exited.
    package func stop(with signal: Int32) {
        daemon.withLock {
            $0?.stop(with: signal)
            $0 = nil
        }
        // The prompt program holds the terminal until it has exited; the next daemon's would then be in its background.
        terminal.waitUntilReleased()
    }

    /// Unlocks the keychain; the person types the passcode.
    package func unlock() throws { try client.unlock(prompt()) }

    /// Queues what the person does at the next boxes, one deed each; after them the person types the passcode again.
    package func tellPerson(_ deeds: [ScriptedPinentry.Deed]) throws {
        try ScriptedPinentry.tell(deeds, home: home.path)
    }
}
