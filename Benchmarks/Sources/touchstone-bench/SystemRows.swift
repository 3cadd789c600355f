import Foundation
import Glibc
import TouchstoneTesting

/// System mode compared to per-user mode, on a machine in a mount namespace: the daemons run as in the shipped unit,
/// the client as a process of the user (``SystemClient``).
enum SystemRows {
    private static let alice = SystemModeMachine.Account.alice
    private static let bench = SystemModeMachine.programs + "/touchstone-bench"

    static func measure(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws {
        guard UnitSandbox.isPossible else {
            return table.add(Row("system mode", notMeasured: UnitSandbox.needs))
        }
        let machine = try await Measured(programs, scale)
        // Names the requesting programs to the daemons.
        let broker = try await machine.machine.startBroker()
        defer { withExtendedLifetime(broker) {} }
        // Started on one processor, both daemons and the client inherit the affinity.
        try await OneProcessor.with { try await measureLookups(machine, scale, into: &table) }
        try await measureStart(machine, scale, into: &table)
        try await measureFlood(machine, scale, into: &table)
        try await measureMemory(machine, into: &table)
    }

    /// A machine with scripted persons at its prompts.
    private struct Measured {
        let machine: SystemModeMachine
        let directory: TemporaryDirectory
        let display: DisplaySocket
        /// The scripted persons for the account's daemons and for alice's own.
        let persons: [ScriptedPinentry]
        /// The users besides alice.
        let others: [SystemModeMachine.Account]

        init(_ programs: Programs, _ scale: Scale) async throws {
            let directory = try TemporaryDirectory(mode: 0o711)
            self.directory = directory
            display = try DisplaySocket()
            let accounts = [SystemModeMachine.Account.touchstone, alice]
            let homes = try accounts.map { try directory.makeDirectory("owner-\($0.name)") }
            persons = try homes.map {
                try ScriptedPinentry.owner(passcode: PrivateKeychain.passcode, home: $0)
            }
            for ((account, home), person) in zip(zip(accounts, homes), persons) {
                for path in [home, (person.path as NSString).deletingLastPathComponent, person.path] {
                    unsafe chown(path, account.uid, account.uid)
                }
            }
            let strangers = (1..<scale.otherUsers).map {
                SystemModeMachine.Account("user\($0)", SystemModeMachine.Account.bob.uid + UInt32($0))
            }
            others = [.bob] + strangers
            machine = try await SystemModeMachine.start(
                configuration: Self.settings(persons[0]),
                daemon: programs.daemon,
                others: strangers
            )
            let copied = try await machine.run(["/bin/cp", "/proc/\(getpid())/exe", bench], as: .root)
            guard copied.status == 0 else { throw BenchError(copied.output) }
            // The same settings for alice's own daemon.
            let home = machine.home(of: alice)
            let own = try await machine.run(
                ["/bin/sh", "-c", "mkdir -m 700 \(home)/own && cat >\(home)/own/touchstoned.conf"],
                as: alice,
                input: Self.settings(persons[1]).joined(separator: "\n") + "\n"
            )
            guard own.status == 0 else { throw BenchError(own.output) }
        }

        private static func settings(_ person: ScriptedPinentry) -> [String] {
            [
                "idle-exit = 0", "biometry = off", "tpm = off",
                "test.scrypt-log2-rounds = \(BenchKeychain.scryptLog2Rounds)",
                "test.pinentry-program = \(person.path)",
            ]
        }

        var environment: [String: String] { ["DISPLAY": display.name] }
        var home: String { machine.home(of: alice) + "/own" }

        func setUp(_ user: SystemModeMachine.Account, environment more: [String: String] = [:]) async throws {
            let finished = try await machine.run(
                [SystemModeMachine.command, "setup"],
                as: user,
                environment: environment.merging(more) { $1 }
            )
            guard finished.status == 0 else { throw BenchError("setup: \(finished.output)") }
        }

        /// Runs this program as alice, and returns the numbers that it prints.
        func client(_ arguments: String...) async throws -> [Nanoseconds] {
            let finished = try await machine.run([bench, SystemClient.option] + arguments, as: alice)
            guard finished.status == 0 else { throw BenchError("client: \(finished.output)") }
            return finished.output.split(separator: "\n").compactMap { Nanoseconds($0) }
        }
    }

    private static func measureLookups(_ measured: Measured, _ scale: Scale, into table: inout Table)
        async throws
    {
        Table.note("filling a keychain of each mode with \(scale.middle) items")
        let system = try await measured.machine.startDaemon(for: alice)
        let own = try await measured.machine.start(
            [SystemModeMachine.programs + "/touchstoned", "--foreground"],
            as: alice,
            environment: ["TOUCHSTONE_HOME": measured.home],
            log: measured.directory.appending("own.log")
        )
        // Otherwise the command would start another one.
        try await Deadline.wait(for: "the daemon of alice's own") {
            let log = try TextFile.read(measured.directory.appending("own.log"))
            return log.contains(" listening ") ? true : nil
        }
        try await measured.setUp(alice)
        try await measured.setUp(alice, environment: ["TOUCHSTONE_HOME": measured.home])
        let medians = try await measured.client(
            "lookups",
            measured.home,
            "\(scale.middle)",
            "\(scale.lookups)"
        )
        guard medians.count == 2 else { throw BenchError("the client told \(medians)") }
        table.add(
            Row(
                "look-up in system mode, \(scale.middle) items",
                ours: Figure(medians[0]),
                "per-user mode",
                Figure(medians[1]),
                .atMost(1.2)
            )
        )
        system.process.stop(with: SIGTERM)
        own.stop(with: SIGTERM)
    }

    /// Starts the daemon while a client waits at its socket, as under systemd; the sandbox, which systemd sets up, is
    /// not measured.
    private static func measureStart(_ measured: Measured, _ scale: Scale, into table: inout Table)
        async throws
    {
        var starts: [Nanoseconds] = []
        let listener = try measured.machine.listen(for: alice)
        for run in 0..<scale.starts {
            let log = measured.directory.appending("first-\(run).log")
            let client = try await measured.machine.start(
                [bench, SystemClient.option, "first"],
                as: alice,
                log: log
            )
            // The client has connected once the socket has a pending connection.
            try await Deadline.wait(for: "the client") {
                var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                return unsafe poll(&waiting, 1, 0) == 1 ? true : nil
            }
            let started = measured.directory.appending("started-\(run).log")
            let daemon = try await measured.machine.start(
                [
                    bench, SystemClient.option, "execute", SystemModeMachine.programs + "/touchstoned",
                    "--foreground", "--owner", "\(alice.uid)",
                ],
                as: .touchstone,
                input: listener,
                log: started
            )
            let wait = try await client.waitUntilEnd()
            let told = try TextFile.read(log)
            guard wait == 0, let end = Nanoseconds(told.prefix { $0 != "\n" }),
                let begin = Nanoseconds(try TextFile.read(started).prefix { $0 != "\n" })
            else { throw BenchError(told) }
            starts.append(end - begin)
            daemon.stop(with: SIGTERM)
        }
        table.add(
            Row(
                "exec to first reply in system mode, \(scale.middle) items",
                ours: Figure(starts.median),
                atMost: .milliseconds(30)
            )
        )
    }

    /// The duration of a user's look-ups while another user's program floods its daemon.
    private static func measureFlood(_ measured: Measured, _ scale: Scale, into table: inout Table)
        async throws
    {
        let daemons = [
            try await measured.machine.startDaemon(for: alice),
            try await measured.machine.startDaemon(for: .bob),
        ]
        try await measured.setUp(.bob)
        let unlocked = try await measured.machine.run(
            [SystemModeMachine.command, "unlock"],
            as: alice,
            environment: measured.environment
        )
        guard unlocked.status == 0 else { throw BenchError(unlocked.output) }
        let log = measured.directory.appending("flood.log")
        let flood = try await measured.machine.start(
            [bench, SystemClient.option, "flood"],
            as: .bob,
            log: log
        )
        try await Deadline.wait(for: "the flood") { try TextFile.read(log).contains("flooding") ? true : nil }
        let tail = try await measured.client("tail", "\(scale.middle)", "\(scale.lookups)")
        guard tail.count == 1, flood.isRunning else {
            throw BenchError("the client told \(tail), the flood \(try TextFile.read(log))")
        }
        table.add(
            Row(
                "look-up while another user floods, 99 of 100",
                ours: Figure(tail[0]),
                atMost: .milliseconds(250)
            )
        )
        flood.stop()
        for daemon in daemons { daemon.process.stop(with: SIGTERM) }
    }

    /// The memory of the other users' daemons, set up and locked.
    private static func measureMemory(_ measured: Measured, into table: inout Table) async throws {
        Table.note("setting up keychains of \(measured.others.count) users")
        let first = try await measured.machine.startDaemon(for: alice)
        var daemons: [SystemDaemon] = []
        for user in measured.others {
            daemons.append(try await measured.machine.startDaemon(for: user))
            // Bob already has a keychain.
            if user != .bob { try await measured.setUp(user) }
            let locked = try await measured.machine.run([SystemModeMachine.command, "lock"], as: user)
            guard locked.status == 0 else { throw BenchError(locked.output) }
        }
        var most = 0.0
        for daemon in daemons {
            let text = try TextFile.read("/proc/\(daemon.process.processID)/smaps_rollup")
            let kilobytes = text.split(separator: "\n").filter { $0.hasPrefix("Private_") }.compactMap {
                Double($0.split(separator: " ").dropFirst().first ?? "")
            }
            guard kilobytes.count >= 2 else { throw BenchError("no smaps_rollup") }
            most = max(most, kilobytes.reduce(0, +))
        }
        table.add(
            Row(
                "private memory of another user's idle daemon, the most of \(daemons.count)",
                ours: .kilobytes(most),
                atMost: .megabytes(12)
            )
        )
        for daemon in [first] + daemons { daemon.process.stop(with: SIGTERM) }
    }
}
