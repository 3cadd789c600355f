import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// Settings under which a scripted user answers the prompts of all users.
struct ScriptedOwner {
    static let settings = [
        "test.scrypt-log2-rounds = 10", "tpm = off", "idle-exit = 0", "log-level = info",
        // The broker of a busy machine must answer in time too.
        "test.broker-patience = 60",
    ]

    private let directory: TemporaryDirectory
    private let pinentry: ScriptedPinentry
    private let display: DisplaySocket
    private let server: DisplayServer

    /// Creates the scripted pinentry, run by the daemons' account, or by the user whose own daemon it serves.
    init(for account: SystemModeMachine.Account = .touchstone) throws {
        directory = try TemporaryDirectory(mode: 0o711)
        pinentry = try ScriptedPinentry.owner(passcode: PrivateKeychain.passcode, home: directory.path)
        display = try DisplaySocket()
        server = try DisplayServer(of: display, as: account)
        let place = (pinentry.path as NSString).deletingLastPathComponent
        for path in [directory.path, place, pinentry.path] { chown(path, account.uid, account.uid) }
    }

    var setting: String { "test.pinentry-program = \(pinentry.path)" }

    /// The environment that a user's programs need for prompts.
    var environment: [String: String] { ["DISPLAY": display.name] }

    /// The number of prompts.
    var boxes: Int { pinentry.notes.count }

    /// Lets users' programs script the prompts and count them: in the returned directory, with the files
    /// `deeds` and `notes`.
    func meetUsers() throws -> String {
        let place = (pinentry.path as NSString).deletingLastPathComponent
        let notes = place + "/notes"
        if !FileManager.default.fileExists(atPath: notes) {
            try Data().write(to: URL(fileURLWithPath: notes))
        }
        try FileManager.default.createSymbolicLink(
            atPath: directory.appending("notes"),
            withDestinationPath: notes
        )
        // Both replace the file `deeds`.
        guard chmod(directory.path, 0o777) == 0, chmod(place, 0o755) == 0, chmod(notes, 0o644) == 0,
            chown(notes, SystemModeMachine.Account.touchstone.uid, 0) == 0
        else { throw TestKitError.system("chmod", errno: errno) }
        return directory.path
    }

    /// Scripts the next prompts.
    func tell(_ deeds: [ScriptedPinentry.Deed]) throws {
        try ScriptedPinentry.tell(deeds, home: directory.path)
    }
}

/// A process of an account that listens at a display: a daemon in its unit's sandbox sees processes of its own account only,
/// and a display whose server it cannot see is no channel for a touch.
private final class DisplayServer: Sendable {
    private let process: Process

    init(of display: DisplaySocket, as account: SystemModeMachine.Account) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=\(account.uid)", "--regid=\(account.uid)", "--clear-groups", "--", "/usr/bin/perl", "-e",
            "my $test = getppid; listen(STDIN, 4096) or die; $| = 1; print q(.); sleep 1 while getppid == $test",
        ]
        process.standardInput = FileHandle(fileDescriptor: display.descriptor, closeOnDealloc: false)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // It listens once it has said so.
        guard try output.fileHandleForReading.read(upToCount: 1)?.count == 1 else {
            throw TestKitError.unexpected("no display server")
        }
    }

    deinit { process.terminate() }
}

extension SystemModeMachine {
    /// Runs the command as a user whose prompts are scripted.
    func command(
        _ arguments: [String],
        as user: Account = .alice,
        by person: ScriptedOwner,
        input: String = ""
    ) async throws -> Finished {
        try await run([Self.command] + arguments, as: user, environment: person.environment, input: input)
    }
}

@Suite(
    "Several users of a machine in system mode",
    .serialized,
    .enabled(
        if: SystemModeMachine.isPossible,
        "needs root, and a machine that lets it mount: unshare, nsenter, setpriv"
    )
)
struct OwnersTests {
    private static let command = SystemModeMachine.command

    @Test("each user has a separate daemon and keychain, which is locked after a restart")
    func twoUsers() async throws {
        let person = try ScriptedOwner()
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off", person.setting]
        )
        let broker = try await machine.startBroker()
        defer { broker.stop() }
        func run(_ arguments: [String], _ user: SystemModeMachine.Account, input: String = "") async throws
            -> Finished
        {
            try await machine.command(arguments, as: user, by: person, input: input)
        }
        var daemons: [SystemDaemon] = []
        for user in [SystemModeMachine.Account.alice, .bob] {
            // A session's environment variables have no effect.
            daemons.append(
                try await machine.startDaemon(
                    for: user,
                    environment: [
                        "TOUCHSTONE_HOME": machine.home(of: user), "HOME": machine.home(of: user),
                        "XDG_DATA_HOME": machine.home(of: user), "DISPLAY": ":99",
                    ]
                )
            )
            let setUp = try await run(["setup"], user)
            #expect(setUp.status == 0, "\(setUp.output)")
            let added = try await run(
                ["set", "mail", "--require", "none"],
                user,
                input: "secret of \(user.name)"
            )
            #expect(added.status == 0, "\(added.output)")
            let more = try await run(["set", "only-\(user.name)"], user, input: "x")
            #expect(more.status == 0, "\(more.output)")
        }
        for user in [SystemModeMachine.Account.alice, .bob] {
            let other = user == .alice ? "bob" : "alice"
            let found = try await run(["get", "mail"], user)
            #expect(found.status == 0)
            #expect(found.output == "secret of \(user.name)", "\(found.output)")
            let list = try await run(["list"], user)
            #expect(list.output.contains("only-\(user.name)"))
            #expect(!list.output.contains("only-\(other)"))
            // Nothing was created where the environment says.
            #expect(try FileManager.default.contentsOfDirectory(atPath: machine.home(of: user)).isEmpty)
            // The owner can read none of the files.
            for path in ["", "/keybag", "/items.sqlite"] {
                let store = "/var/lib/touchstone/\(user.uid)\(path)"
                let read = try await machine.run(["/bin/sh", "-c", "ls \(store)/ || cat \(store)"], as: user)
                #expect(read.status != 0)
                #expect(read.output.contains("Permission denied"), "\(read.output)")
            }
            // Nor the memory.
            let daemon = daemons[user == .alice ? 0 : 1]
            let memory = try await machine.run(
                [
                    "/bin/sh", "-c",
                    "head -c 1 /proc/\(daemon.process.processID)/mem; cat /proc/\(daemon.process.processID)/environ",
                ],
                as: user
            )
            #expect(memory.status != 0)
        }
        // A restarted daemon is locked and has the same items.
        daemons[0].process.stop(with: SIGTERM)
        daemons[0] = try await machine.startDaemon(for: .alice)
        let status = try await run(["status", "--json"], .alice)
        #expect(status.output.contains("\"locked\""), "\(status.output)")
        #expect(status.output.contains("\"test\""))
        let again = try await run(["get", "mail"], .alice)
        #expect(again.output == "secret of alice", "\(again.output)")
        #expect(try await run(["get", "mail"], .bob).output == "secret of bob")
    }

    @Test("a user's socket refuses another user, root and the daemon's own account")
    func others() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off"]
        )
        let daemon = try await machine.startDaemon(for: .alice)
        let socket = "/run/touchstone/\(SystemModeMachine.Account.alice.uid)/socket"
        let served = try await machine.run([Self.command, "status"], as: .alice)
        #expect(served.status == 0, "\(served.output)")
        // The socket's mode keeps others out; without it the daemon does.
        let connect = """
            use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; connect($s, sockaddr_un('\(socket)')) or die "connect: $!"; \
            my $all = ''; while (sysread($s, my $part, 4096)) { $all .= $part } print unpack('H*', $all);
            """
        let perl = ["/usr/bin/perl", "-e", connect]
        let users = [SystemModeMachine.Account.bob, .touchstone, .root]
        for user in users where user != .root {
            let kept = try await machine.run(perl, as: user)
            #expect(kept.output.contains("Permission denied"), "\(user.name): \(kept.output)")
        }
        chmod(machine.outside(socket), 0o666)
        for (index, user) in users.enumerated() {
            let refused = try await machine.run(perl, as: user)
            // A frame with the status errSecMissingEntitlement, and the end.
            #expect(refused.status == 0, "\(user.name): \(refused.output)")
            #expect(!refused.output.isEmpty)
            let lines = try await daemon.expectLogged("clientRefused", count: index + 1)
            #expect(lines.last?.contains("uid=\"\(user.uid)\"") == true, "\(lines)")
            #expect(lines.last?.contains("another user") == true, "\(lines)")
        }
        #expect(try await machine.run([Self.command, "status"], as: .alice).status == 0)
    }

    @Test("a daemon refuses to start in an unsafe environment", arguments: Wrong.allCases)
    func refusedStarts(wrong: Wrong) async throws {
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off"]
        )
        let alice = SystemModeMachine.Account.alice
        var account = SystemModeMachine.Account.touchstone
        var input = try machine.listen(for: alice)
        let configuration = "/etc/touchstone/touchstoned.conf"
        let store = machine.outside("/var/lib/touchstone/\(alice.uid)")
        switch wrong {
        case .asOwner: account = alice
        case .asRoot: account = .root
        case .noSocket: input = -1
        case .ownersConfiguration: chown(machine.outside(configuration), alice.uid, 0)
        case .accountsConfiguration: chown(machine.outside(configuration), account.uid, 0)
        case .writableConfiguration: chmod(machine.outside(configuration), 0o666)
        case .foreignStore: chown(store, alice.uid, alice.uid)
        case .openStore: chmod(store, 0o755)
        }
        let pass =
            input < 0
            ? "exec \"$@\"" : "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$@\""
        let log = machine.directory.appending("refused.log")
        let process = try await machine.start(
            [
                "/bin/sh", "-c", pass, "sh", SystemModeMachine.programs + "/touchstoned", "--owner",
                "\(alice.uid)",
            ],
            as: account,
            input: input,
            log: log
        )
        let wait = try await process.waitUntilEnd()
        #expect(wait >> 8 == 1)
        let said = try String(contentsOfFile: log, encoding: .utf8)
        #expect(said.contains("error: ") && said.contains(wrong.text) && said.contains("\nhint: "), "\(said)")
        // It starts once everything is corrected.
        chown(machine.outside(configuration), 0, 0)
        chmod(machine.outside(configuration), 0o644)
        chown(store, SystemModeMachine.Account.touchstone.uid, SystemModeMachine.Account.touchstone.uid)
        chmod(store, 0o700)
        _ = try await machine.startDaemon(for: alice)
    }

    /// The fault at a start.
    enum Wrong: CaseIterable, Sendable {
        case asOwner, asRoot, noSocket, ownersConfiguration, accountsConfiguration, writableConfiguration,
            foreignStore, openStore

        var text: String {
            switch self {
            case .asOwner: "does not run as the owner"
            case .asRoot: "does not run as root"
            case .noSocket: "no listening socket was passed"
            case .ownersConfiguration, .accountsConfiguration, .writableConfiguration: "others may write"
            case .foreignStore: "/var/lib/touchstone/64811"
            case .openStore: "has mode 755 instead of 700"
            }
        }
    }

    @Test("clients start no daemon of their own, and if the system's does not answer they name its unit")
    func clients() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off"]
        )
        let alice = SystemModeMachine.Account.alice
        try machine.write("", to: "/etc/touchstone/system-only")
        let own = ["TOUCHSTONE_HOME": machine.home(of: alice), "TOUCHSTONE_DAEMON": Programs.touchstoned]
        for environment in [[:], own] {
            let none = try await machine.run([Self.command, "status"], as: alice, environment: environment)
            #expect(none.status != 0)
            #expect(none.output.contains("touchstoned@\(alice.uid).socket"), "\(none.output)")
        }
        let daemon = try await machine.startDaemon(for: alice)
        for environment in [[:], own] {
            let found = try await machine.run([Self.command, "status"], as: alice, environment: environment)
            #expect(found.status == 0, "\(found.output)")
        }
        // The socket file remains, as systemd's does, but nobody listens.
        daemon.process.stop()
        machine.closeSockets()
        let silent = try await machine.run([Self.command, "status"], as: alice, environment: own)
        #expect(silent.status != 0)
        #expect(
            silent.output.contains("systemctl status touchstoned@\(alice.uid).service"),
            "\(silent.output)"
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: machine.home(of: alice)).isEmpty)
    }
}
