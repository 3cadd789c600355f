import Foundation
import Glibc
import ScriptedDaemon
import Synchronization
import TouchstoneTesting

/// The owner of a test's keychain on a machine in system mode: a user of the test's own, with the daemon of the system account and
/// the agent of a desktop session.
///
/// `SystemModeTests/SecretServiceSuiteTests` starts this process as root on such a machine, and says so by a variable. Programs that
/// a test starts run as the owner of their home directory.
final class SystemModeUser: Sendable {
    /// Whether this process runs on such a machine.
    static let isHere = ProcessInfo.processInfo.environment["TOUCHSTONE_TEST_MACHINE"] != nil

    private static let machine = Result { try SystemModeMachine(ofThisProcess: ()) }
    private static let taken = Atomic<Int>(0)

    private let machine: SystemModeMachine
    private let account: SystemModeMachine.Account
    private let display: DisplaySocket
    private let daemon = Mutex<SystemDaemon?>(nil)
    private let agent = Mutex<ChildProcess?>(nil)
    /// A command that runs the daemon with settings of its own; empty for those of the machine.
    private let wrapper: [String]

    /// Takes an account of the machine, and gives it a home directory and the program that answers for it; starts nothing.
    ///
    /// `settings` are additional lines of its daemon's configuration.
    init(home: TemporaryHome, pinentry: ScriptedPinentry, settings: [String]) throws {
        machine = try Self.machine.get()
        let number = Self.taken.add(1, ordering: .relaxed).oldValue
        guard number < SystemModeMachine.testUsers.count else {
            throw TestKitError.unexpected("more than \(number) users")
        }
        account = SystemModeMachine.testUsers[number]
        display = try DisplaySocket()
        if settings.isEmpty {
            wrapper = []
        } else {
            let file = "/etc/touchstone/\(account.uid).conf"
            let common = try String(contentsOfFile: SystemModeMachine.configuration, encoding: .utf8)
            try machine.write(common + settings.joined(separator: "\n") + "\n", to: file)
            let mounts = "mount --bind \(file) \(SystemModeMachine.configuration) && exec \"$@\""
            wrapper =
                ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", mounts, "sh"]
                + machine.wrapper(as: .touchstone)
        }
        let place = (pinentry.path as NSString).deletingLastPathComponent
        for path in [home.path, home.path + "/run", home.path + "/data", place, pinentry.path] {
            try give(path)
        }
        try answer(with: pinentry.path)
    }

    /// `DISPLAY` of its session.
    var displayName: String { display.name }

    /// Its user ID.
    var userID: UInt32 { account.uid }

    /// Makes the user the owner of a file.
    func give(_ path: String) throws {
        guard chown(path, account.uid, account.uid) == 0 else {
            throw TestKitError.system("chown \(path)", errno: errno)
        }
    }

    /// Lets the agent show its boxes by `program` from now on.
    func answer(with program: String) throws {
        let name = "\(SystemModeMachine.testPinentries)/\(account.uid)"
        unlink(name)
        guard symlink(program, name) == 0 else { throw TestKitError.system("symlink", errno: errno) }
    }

    /// Starts the daemon, and the agent if there is none; returns when boxes can be shown.
    func start() async throws {
        let started = try await machine.startDaemon(
            for: account,
            through: wrapper,
            as: wrapper.isEmpty ? .touchstone : .root
        )
        daemon.withLock { $0 = started }
        let variables = ["DISPLAY": display.name]
        if agent.withLock({ $0 == nil }) {
            let process = try await machine.start(
                [SystemModeMachine.agent, "--graphical"],
                as: account,
                environment: variables,
                log: machine.directory.appending("agent-\(account.uid).log")
            )
            agent.withLock { $0 = process }
        }
        try await machine.waitForAgent(of: account, environment: variables)
    }

    /// Ends the daemon by a signal, and starts the next one, as the service manager does at the next request.
    func restart(by signal: Int32) async throws {
        daemon.withLock { $0.take() }?.process.stop(with: signal)
        try await start()
    }
}
