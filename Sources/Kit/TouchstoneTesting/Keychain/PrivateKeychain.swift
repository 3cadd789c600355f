package import KeychainClient
package import KeychainModel
import SecretMemory

/// A keychain of one's own: the real daemon in a private directory, and a person who knows the passcode.
///
/// ```swift
/// let keychain = try await PrivateKeychain.ready()
/// try keychain.client.add(item)
/// ```
///
/// The daemon's derivation is reduced and its prompts are answered by a script, so its assurance is `test`.
package final class PrivateKeychain: Sendable {
    /// What the person types.
    package static let passcode = "marble lantern orchid tundra velvet"

    /// Where all of it lies.
    package let home: TemporaryDirectory
    /// The same, as client and daemon name it.
    package let layout: Layout
    /// A client that starts no daemon of its own.
    package let client: RemoteKeychain

    /// What the daemon's bus ends with.
    private let bus: PrivateBus?
    private let lines: [String]
    private let terminal: PseudoTerminal
    private let pinentry: ScriptedPinentry
    private let daemon = Guarded<ChildProcess?>(nil)

    /// Settings with which the daemon brings its log into the file at an orderly end alone, however long a test takes.
    package static let keepsLog = ["test.idle-delay = 86400", "test.purge-delay = 86400"]

    /// Makes the directory and the settings; nothing runs yet.
    ///
    /// - Parameters:
    ///   - bus: the system bus with fprintd; nil for none.
    ///   - tpm: a chip's transport, for example ``TPMRecorder/tcti``; nil for software.
    ///   - settings: more lines for the daemon's configuration.
    /// - Throws: ``TestKitError`` or ``TerminalError`` when a file or a terminal cannot be made.
    package convenience init(bus: PrivateBus? = nil, tpm: String? = nil, settings: [String] = []) throws {
        try self.init(bus: bus, tpm: tpm, settings: settings) { home in
            try ScriptedPinentry.owner(passcode: Self.passcode, home: home)
        }
    }

    /// Makes the same, with the person behind another program.
    init(
        bus: PrivateBus?,
        tpm: String?,
        settings: [String],
        pinentry: (_ home: String) throws -> ScriptedPinentry
    ) throws {
        self.bus = bus
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

    /// A keychain that is set up and unlocked.
    package static func ready(
        bus: PrivateBus? = nil,
        tpm: String? = nil,
        settings: [String] = []
    ) async throws -> PrivateKeychain {
        let keychain = try PrivateKeychain(bus: bus, tpm: tpm, settings: settings)
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        return keychain
    }

    /// Puts the keychain on a chip, or on none, from the next start of the daemon on.
    package func use(tpm: String?) throws {
        let chip = tpm.map { ["test.tpm = \($0)"] } ?? ["tpm = off"]
        _ = try home.write((lines + chip).joined(separator: "\n") + "\n", to: "touchstoned.conf")
    }

    /// How this keychain's requests are prompted for.
    package func prompt(_ reason: String = "a test") -> PromptFields {
        PromptFields(origin: PromptOrigin(terminal: terminal.name, terminalType: "xterm"), reason: reason)
    }

    /// How requests are prompted for whose boxes come up on a display.
    package func prompt(on display: DisplaySocket, _ reason: String = "a test") -> PromptFields {
        PromptFields(origin: PromptOrigin(display: display.name), reason: reason)
    }

    /// The boxes that were shown so far.
    package var prompts: Int { pinentry.notes.count }

    /// The daemon's process; 0 when none runs.
    package var processID: Int32 { daemon.withLock { $0?.processID ?? 0 } }

    /// Whether the daemon runs.
    package var isRunning: Bool { daemon.withLock { $0?.isRunning ?? false } }

    /// Starts the daemon and waits until it listens.
    ///
    /// - Parameter wrapper: a command that runs the daemon, for example `strace` with its options.
    /// - Throws: ``TestKitError`` when it is not built, ends, or does not listen in time.
    package func start(through wrapper: [String] = []) async throws {
        try Programs.checkDaemon()
        let command = wrapper + [Programs.touchstoned, "--foreground"]
        let process = try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: ["TOUCHSTONE_HOME": home.path, "HOME": home.path],
            log: home.appending("daemon.stderr")
        )
        daemon.withLock { $0 = process }
        try await Deadline.wait(for: "the daemon's socket") {
            if (try? client.status()) != nil { return true }
            guard process.isRunning else { throw TestKitError.unexpected("the daemon ended") }
            return nil
        }
    }

    /// Ends the daemon by a signal and waits for its end, and for that of its prompt program.
    package func stop(with signal: Int32) {
        daemon.withLock {
            $0?.stop(with: signal)
            $0 = nil
        }
        // Until the kernel has ended it, it holds the terminal, and who asks the next daemon there is in its background.
        terminal.waitUntilReleased()
    }

    /// Unlocks the keychain; the person types the passcode.
    package func unlock() throws { try client.unlock(prompt()) }

    /// Tells the person what to do at the next boxes, one deed for each; after them the passcode again.
    package func tellPerson(_ deeds: [ScriptedPinentry.Deed]) throws {
        try ScriptedPinentry.tell(deeds, home: home.path)
    }
}
