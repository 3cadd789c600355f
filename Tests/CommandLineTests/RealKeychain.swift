import Foundation
import Glibc
import KeychainClient
import KeychainModel
import ScriptedDaemon
import TouchstoneTesting

/// A keychain with the real daemon, a terminal, and a scripted pinentry.
final class RealKeychain: Sendable {
    static let passcode = PrivateKeychain.passcode

    /// Whether both programs have been built.
    static var isPossible: Bool {
        Programs.isBuilt(Programs.touchstone) && Programs.isBuilt(Programs.touchstoned)
    }

    let home: TemporaryHome
    private let terminal: PseudoTerminal
    private let pinentry: ScriptedPinentry
    private let bus: PrivateBus?
    private let variables: [String: String]
    /// Its owner in system mode; nil where the daemon is this process's user's own.
    let user: SystemModeUser?

    /// Creates the home directory; nothing is running yet.
    ///
    /// `program` is the pinentry, scripted by default; `bus` is the system bus with fprintd, nil for none;
    /// `settings` are additional lines of the daemon's configuration, `variables` additional ones of the commands' environment.
    init(
        pinentry program: String? = nil,
        bus: PrivateBus? = nil,
        settings: [String] = [],
        variables: [String: String] = [:]
    ) throws {
        self.bus = bus
        home = try TemporaryHome()
        terminal = try PseudoTerminal()
        pinentry = try ScriptedPinentry.owner(passcode: Self.passcode, home: home.path)
        guard !SystemModeUser.isHere else {
            let user = try SystemModeUser(home: home, pinentry: pinentry, settings: settings)
            self.user = user
            self.variables = variables.merging(["DISPLAY": user.displayName]) { $1 }
            return
        }
        user = nil
        self.variables = variables
        let configuration = """
            test.pinentry-program = \(program ?? pinentry.path)
            test.system-bus-address = \(bus?.address ?? "unix:path=\(home.path)/no-bus")
            test.scrypt-log2-rounds = 10
            idle-exit = 120
            \(settings.joined(separator: "\n"))

            """
        let file = URL(fileURLWithPath: home.layout.configurationFile)
        try configuration.write(to: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    /// Creates a keychain and sets it up.
    static func ready(
        bus: PrivateBus? = nil,
        settings: [String] = [],
        variables: [String: String] = [:]
    ) async throws -> RealKeychain {
        let keychain = try RealKeychain(bus: bus, settings: settings, variables: variables)
        try await keychain.user?.start()
        let result = try await keychain.run("setup")
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
        return keychain
    }

    deinit {
        guard user == nil else { return }
        let client = RemoteKeychain(layout: home.layout, daemon: .none)
        guard let daemon = try? client.status().daemonProcess, let process = pid_t(exactly: daemon) else {
            return
        }
        kill(process, SIGTERM)
    }

    /// The number of prompts shown so far.
    var prompts: Int { pinentry.notes.count }

    /// The texts of the prompts so far, with their line breaks.
    var boxes: [String] {
        pinentry.received.filter { $0.hasPrefix("SETDESC ") }.map {
            String($0.dropFirst(8)).replacing("%0A", with: "\n").replacing("%25", with: "%")
        }
    }

    /// Runs `touchstone` in the terminal's session and captures its output.
    func run(_ arguments: String..., input: String? = nil, hasTerminal: Bool = true) async throws
        -> CommandResult
    {
        try await run(all: arguments, input: input, hasTerminal: hasTerminal)
    }

    /// The same with the arguments as an array.
    func run(all arguments: [String], input: String? = nil, hasTerminal: Bool = true) async throws
        -> CommandResult
    {
        var run = CommandRun(home: home)
        run.arguments = arguments
        run.terminal = hasTerminal ? try PseudoTerminal() : nil
        run.input = input.map { .octets(Array($0.utf8)) } ?? .nothing
        run.environment = variables.merging(["TOUCHSTONE_DAEMON": Programs.touchstoned]) { $1 }
        return try await run.run()
    }

    /// Uses a real pinentry program from now on, answered at the terminal.
    func draw(with program: String) throws {
        if let user { return try user.answer(with: program) }
        try stop(with: SIGTERM)
        let file = URL(fileURLWithPath: home.layout.configurationFile)
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            line.hasPrefix("test.pinentry-program") ? "test.pinentry-program = \(program)" : String(line)
        }
        try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: false, encoding: .utf8)
    }

    /// Makes the owner in system mode the owner of a file that this process made for it.
    func give(_ path: String) throws { try user?.give(path) }

    /// Sends the daemon a signal and waits for its end.
    func stop(with signal: Int32) throws {
        let status = try RemoteKeychain(layout: home.layout, daemon: .none).status()
        guard let process = pid_t(exactly: status.daemonProcess) else { return }
        kill(process, signal)
        let end = ContinuousClock.now + Deadline.patience
        while !ChildProcess.hasEnded(process), ContinuousClock.now < end { usleep(5000) }
    }

    /// Whether the user cancels every prompt from now on.
    func setCancels(_ cancels: Bool) throws {
        try ScriptedPinentry.tell(cancels ? Array(repeating: .cancels, count: 100) : [], home: home.path)
    }
}
