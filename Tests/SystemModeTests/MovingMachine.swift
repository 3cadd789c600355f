import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// A machine on which alice has her own keychain, and root can move it.
///
/// There is no service manager: tests start the daemon of system mode. Alice's own daemons, started by her
/// programs, end at deinit.
final class MovingMachine: Sendable {
    static var isPossible: Bool {
        SystemModeMachine.isPossible && access("/usr/lib/systemd/system", X_OK) == 0
    }
    static let reason: Comment = "needs root, a machine that lets it mount, and systemd's directory of units"
    static let alice = SystemModeMachine.Account.alice
    /// Whether strace can kill a program at a call here.
    static let canTrace: Bool = {
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
        trial.arguments = [
            "-qq", "-o", "/dev/null", "-e", "trace=openat", "-e", "inject=openat:signal=KILL:when=1",
            "/bin/true",
        ]
        trial.standardError = FileHandle.nullDevice
        guard (try? trial.run()) != nil else { return false }
        trial.waitUntilExit()
        return trial.terminationReason == .uncaughtSignal && trial.terminationStatus == SIGKILL
    }()

    let machine: SystemModeMachine
    private let broker: SystemBroker
    /// The scripted users that answer prompts of alice's own daemon, and of system mode's.
    let own: ScriptedOwner
    let system: ScriptedOwner

    var ownDirectory: String { machine.home(of: Self.alice) + "/.local/share/touchstone" }
    var keptDirectory: String { machine.outside("/var/lib/touchstone/\(Self.alice.uid)") }
    /// The files of alice's own directory.
    var ownNames: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: ownDirectory)) ?? [])
    }
    /// The names beside alice's keychain in system mode.
    var systemNames: Set<String> {
        let path = machine.outside("/var/lib/touchstone")
        return Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
    }

    init(settings: [String] = ["biometry = off"], tpm: String? = nil) async throws {
        (own, system) = (try ScriptedOwner(for: Self.alice), try ScriptedOwner())
        let lines =
            ScriptedOwner.settings.filter { tpm == nil || !$0.hasPrefix("tpm") } + settings
            + (tpm.map { ["test.tpm = \($0)"] } ?? [])
        machine = try await SystemModeMachine.start(configuration: lines + [system.setting])
        let uid = Self.alice.uid
        var path = machine.home(of: Self.alice)
        for part in ["/.config", "/touchstone"] {
            path += part
            guard mkdir(path, 0o700) == 0, chown(path, uid, uid) == 0 else { throw POSIXError(.EIO) }
        }
        path += "/touchstoned.conf"
        try (lines + [own.setting]).map { $0 + "\n" }.joined().write(
            toFile: path,
            atomically: false,
            encoding: .utf8
        )
        guard chown(path, uid, uid) == 0, chmod(path, 0o600) == 0 else { throw POSIXError(.EIO) }
        broker = try await machine.startBroker()
        let parts = try await machine.run(["/bin/sh", "-ec", Self.parts], as: .root)
        #expect(parts.status == 0, "\(parts.output)")
    }

    deinit {
        // They have no parent any more, and their home is unique to this machine.
        let home = "HOME=\(machine.home(of: Self.alice))"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for process in names.compactMap({ pid_t($0) }) {
            guard let octets = FileManager.default.contents(atPath: "/proc/\(process)/environ") else {
                continue
            }
            let variables = octets.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            if variables.contains(home) { kill(process, SIGKILL) }
        }
    }

    /// What `touchstone system enable` checks before it moves anything; of the agent only the file.
    private static let parts = """
        cd /usr/libexec/touchstone; touch touchstone-broker touchstone-agent; chmod 755 touchstone-broker
        chgrp \(SystemModeMachine.Group.agent) touchstone-agent; chmod 2755 touchstone-agent
        mount -t tmpfs -o mode=755 units /usr/lib/systemd/system; cd /usr/lib/systemd/system
        for unit in touchstoned@ touchstone-broker; do touch $unit.service $unit.socket; done
        """

    /// Starts alice's daemon of system mode like its unit.
    func startDaemon() async throws -> SystemDaemon {
        try await machine.startDaemon(for: Self.alice, drawsItself: true)
    }

    /// Bind-mounts an fprintd's templates where the broker looks for them.
    func show(templates: String) async throws {
        let bind = "mkdir -p /var/lib/fprint && mount --bind '\(templates)' /var/lib/fprint"
        let bound = try await machine.run(["/bin/sh", "-c", bind], as: .root)
        #expect(bound.status == 0, "\(bound.output)")
    }

    /// Runs `touchstone` as alice, or as root.
    func run(
        _ arguments: [String],
        as user: SystemModeMachine.Account = alice,
        environment: [String: String] = [:],
        input: String = "",
        through tracer: [String] = []
    ) async throws -> Finished {
        try await machine.run(
            tracer + [SystemModeMachine.command] + arguments,
            as: user,
            environment: system.environment.merging(environment) { $1 },
            input: input
        )
    }

    /// Runs `touchstone system` as root without confirmation.
    func move(_ step: String, _ options: [String] = [], through tracer: [String] = []) async throws
        -> Finished
    {
        try await run(["system", step, "--user", "alice", "--yes"] + options, as: .root, through: tracer)
    }
}
