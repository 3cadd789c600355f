import Foundation
import Glibc
import SecretMemory

/// A machine in system mode without systemd, in a mount namespace: the daemons' account, two users and the groups, with
/// the directories of an installed system.
///
/// ```swift
/// let machine = try await SystemModeMachine.start(configuration: ["biometry = off"])
/// let daemon = try await machine.startDaemon(for: .alice)
/// let status = try await machine.run([SystemModeMachine.command, "status"], as: .alice)
/// ```
///
/// It leaves nothing on the real machine, and all of it ends with the value.
package final class SystemModeMachine: Sendable {
    /// An account of the machine.
    package struct Account: Sendable, Hashable {
        /// The name.
        package let name: String
        /// The user ID, which is also the ID of the group of the same name.
        package let uid: UInt32
        /// The IDs of further groups.
        package let groups: [UInt32]

        package init(_ name: String, _ uid: UInt32, groups: [UInt32] = []) {
            (self.name, self.uid, self.groups) = (name, uid, groups)
        }

        /// The administrator.
        package static let root = Account("root", 0)
        /// The account of the daemons.
        package static let touchstone = Account("touchstone", 64_801, groups: [Group.tss])
        /// A user.
        package static let alice = Account("alice", 64_811)
        /// Another user.
        package static let bob = Account("bob", 64_812)
    }

    /// Group IDs; only the TPM's group has members.
    package enum Group {
        /// The group that may use the TPM.
        package static let tss: UInt32 = 64_805
        /// The agent's set-gid group.
        package static let agent: UInt32 = 64_806
        /// The doors' set-gid group.
        package static let door: UInt32 = 64_807
    }

    /// Whether this process can create a machine.
    package static var isPossible: Bool { MachineNamespace.isPossible }
    /// The directory of the machine's programs.
    package static let programs = "/usr/libexec/touchstone"
    /// The command line.
    package static let command = "/usr/bin/touchstone"
    /// The settings of all daemons.
    package static let configuration = "/etc/touchstone/touchstoned.conf"

    /// The machine's files outside of its namespace.
    package let directory: TemporaryDirectory
    let namespace: MachineNamespace
    /// The listening sockets, held as by the service manager while daemons start and stop.
    private let sockets = Guarded<[UInt32: CInt]>([:])
    private let runs = Guarded(0)

    /// Creates the machine, with the programs installed and settings in `/etc/touchstone/touchstoned.conf`.
    ///
    /// - Parameters:
    ///   - configuration: the lines of the settings.
    ///   - daemon: the program to install as `touchstoned`; by default the one for tests.
    ///   - others: users beside alice and bob.
    /// - Returns: the machine; no daemon runs yet.
    /// - Throws: ``TestKitError``.
    package static func start(
        configuration: [String] = [],
        daemon: String = Programs.touchstoned,
        others: [Account] = []
    ) async throws -> SystemModeMachine {
        let directory = try TemporaryDirectory(mode: 0o711)
        let users = [Account.touchstone, .alice, .bob] + others
        var passwd: [String] = []
        for user in users {
            let home = try directory.makeDirectory("home-\(user.name)")
            guard unsafe chown(home, user.uid, user.uid) == 0 else {
                throw TestKitError.system("chown", errno: errno)
            }
            passwd.append("\(user.name):x:\(user.uid):\(user.uid)::\(home):/bin/sh")
        }
        let groups =
            users.map { "\($0.name):x:\($0.uid):" } + [
                "tss:x:\(Group.tss):touchstone", "touchstone-agent:x:\(Group.agent):",
                "touchstone-door:x:\(Group.door):",
            ]
        let namespace = try await MachineNamespace(
            in: directory,
            users: passwd,
            groups: groups,
            commands: """
                cp '\(daemon)' \(programs)/touchstoned
                cp '\(Programs.touchstone)' \(command)
                chmod 755 \(programs)/* \(command)

                """
        )
        let machine = SystemModeMachine(directory, namespace)
        try machine.write(
            configuration.joined(separator: "\n") + "\n",
            to: Self.configuration
        )
        return machine
    }

    /// The machine in which this process itself has been started, as root (``run(_:as:environment:input:)``).
    ///
    /// - Throws: ``TestKitError`` when there is no place for its files.
    package convenience init(ofThisProcess: Void) throws {
        self.init(try TemporaryDirectory(mode: 0o711), .ofThisProcess)
    }

    private init(_ directory: TemporaryDirectory, _ namespace: MachineNamespace) {
        (self.directory, self.namespace) = (directory, namespace)
    }

    deinit { closeSockets() }

    /// Stops listening, and leaves the sockets' files in place.
    package func closeSockets() {
        sockets.withLock { sockets in
            // Closing alone is not enough: a process that is just being started may hold a copy of the descriptor.
            for socket in sockets.values {
                shutdown(socket, CInt(SHUT_RDWR))
                close(socket)
            }
            sockets = [:]
        }
    }

    // MARK: Files

    /// The path of a file of the machine as root sees it from outside.
    package func outside(_ path: String) -> String { namespace.root + path }

    /// Writes a file owned by root, with mode 0644.
    package func write(_ text: String, to path: String) throws {
        let file = unsafe open(outside(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw TestKitError.system("open \(path)", errno: errno) }
        defer { close(file) }
        let octets = Array(text.utf8)
        guard unsafe Glibc.write(file, octets, octets.count) == octets.count else {
            throw TestKitError.system("write \(path)", errno: errno)
        }
    }

    /// The home directory of a user.
    package func home(of user: Account) -> String { directory.appending("home-\(user.name)") }

    // MARK: Programs

    /// A command prefix that runs a command in the machine as a user, in the same process.
    package func wrapper(as user: Account) -> [String] {
        guard user != .root else { return namespace.wrapper }
        let groups =
            user.groups.isEmpty
            ? "--clear-groups" : "--groups=\(user.groups.map(String.init).joined(separator: ","))"
        return namespace.wrapper + [
            "/usr/bin/setpriv", "--reuid=\(user.uid)", "--regid=\(user.uid)", groups, "--pdeathsig=KILL",
            "--",
        ]
    }

    /// Starts a program as a user.
    ///
    /// - Parameters:
    ///   - command: the program and its arguments.
    ///   - user: the user.
    ///   - environment: additions to the environment.
    ///   - beginsLogin: whether a login of the user begins with it, as with pam_loginuid(8).
    ///   - input: the descriptor of its standard input; -1 for none.
    ///   - log: a file for its output and errors.
    /// - Returns: the running program.
    /// - Throws: ``TestKitError``.
    package func start(
        _ command: [String],
        as user: Account,
        environment: [String: String] = [:],
        beginsLogin: Bool = false,
        input: CInt = -1,
        log: String
    ) async throws -> ChildProcess {
        let usual = ["HOME": home(of: user), "PATH": "/usr/bin:/bin"]
        let login = ["/bin/sh", "-c", "echo \(user.uid) > /proc/self/loginuid && exec \"$@\"", "sh"]
        let whole = (beginsLogin ? login : []) + wrapper(as: user) + command
        return try await ChildProcess.start(
            whole[0],
            Array(whole.dropFirst()),
            environment: usual.merging(environment) { $1 },
            input: input,
            log: log
        )
    }

    /// Runs a program as a user, until it exits.
    package func run(
        _ command: [String],
        as user: Account,
        environment: [String: String] = [:],
        input text: String = ""
    ) async throws -> Finished {
        let number = runs.withLock { runs in
            runs += 1
            return runs
        }
        let log = directory.appending("run-\(number).log")
        let input = try directory.write(text, to: "run-\(number).input")
        let descriptor = unsafe open(input, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TestKitError.system("open", errno: errno) }
        defer { close(descriptor) }
        let process = try await start(
            command,
            as: user,
            environment: environment,
            input: descriptor,
            log: log
        )
        return try Finished(await process.waitUntilEnd(), log: log)
    }

    /// Starts a system bus in the machine, at its standard path, with polkitd and fprintd on it.
    ///
    /// - Parameters:
    ///   - sensors: fprintd's sensors.
    ///   - rules: polkit's rules.
    /// - Returns: the bus, with everything on it ready.
    /// - Throws: ``TestKitError``.
    package func startBus(sensors: [PrivateBus.Sensor], rules: String) async throws -> PrivateBus {
        let bus = try await PrivateBus.start(sensors: sensors, through: namespace.wrapper, rules: rules)
        // Mount the socket itself: the daemon rejects symbolic links.
        let name = "/run/dbus/system_bus_socket"
        let mounted = try await run(
            ["/bin/sh", "-c", ": >\(name) && mount --bind \(bus.directory.appending("bus.sock")) \(name)"],
            as: .root
        )
        guard mounted.status == 0 else { throw TestKitError.unexpected(mounted.output) }
        return bus
    }

    // MARK: The daemon

    /// Creates a user's socket as the service manager does, and the store's directory; starts nothing.
    package func listen(for user: Account) throws -> CInt {
        try sockets.withLock { sockets throws(TestKitError) in
            if let socket = sockets[user.uid] { return socket }
            let place = outside("/run/touchstone/\(user.uid)")
            let store = outside("/var/lib/touchstone/\(user.uid)")
            guard unsafe mkdir(place, 0o755) == 0 || errno == EEXIST, unsafe chmod(place, 0o755) == 0,
                unsafe mkdir(store, 0o700) == 0 || errno == EEXIST,
                unsafe chown(store, Account.touchstone.uid, Account.touchstone.uid) == 0
            else { throw TestKitError.system("mkdir", errno: errno) }
            // Remove a stale socket.
            _ = unsafe unlink(place + "/socket")
            let descriptor = try UnixSocket.bind(to: place + "/socket")
            guard unsafe chmod(place + "/socket", 0o600) == 0,
                unsafe chown(place + "/socket", user.uid, 0) == 0, Glibc.listen(descriptor, 64) == 0
            else {
                let number = errno
                close(descriptor)
                throw TestKitError.system("listen", errno: number)
            }
            sockets[user.uid] = descriptor
            return descriptor
        }
    }

    /// Starts a user's daemon under its account, passes it the socket, and waits until it listens.
    ///
    /// It runs in the sandbox of its unit if that is possible, unless a wrapper is given.
    /// - Parameters:
    ///   - user: the owner of the keychain.
    ///   - wrapper: a command that runs the daemon.
    ///   - account: the account that runs the wrapper.
    ///   - environment: additions to the environment that the service manager gives it.
    ///   - hasBroker: starts a broker first, which lives as long as the returned daemon; without a broker no program
    ///     can use items.
    ///   - drawsItself: whether a test's prompt program answers instead of an agent: the daemon examines its connections
    ///     to a display, which an agent does otherwise, and its unit does not let the daemon.
    /// - Returns: the daemon.
    /// - Throws: ``TestKitError`` with the daemon's log when it exits.
    package func startDaemon(
        for user: Account,
        through wrapper: [String] = [],
        as account: Account = .touchstone,
        environment: [String: String] = [:],
        withBroker hasBroker: Bool = false,
        drawsItself: Bool = false
    ) async throws -> SystemDaemon {
        let broker = hasBroker ? try await startBroker() : nil
        let socket = try listen(for: user)
        let log = directory.appending("daemon-\(user.uid)-\(UUID().uuidString).log")
        let pass = "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$@\""
        let sandbox =
            wrapper.isEmpty && UnitSandbox.isPossible
            ? try UnitSandbox(
                shipped: "touchstoned@.service",
                instance: "\(user.uid)",
                andCalls: drawsItself ? ["pidfd_getfd"] : []
            ) : nil
        let process = try await start(
            try (sandbox?.wrapper(in: directory, listens: true) ?? wrapper + ["/bin/sh", "-c", pass, "sh"])
                + [Self.programs + "/touchstoned", "--foreground", "--owner", "\(user.uid)"],
            // The sandbox switches to the unit's user.
            as: sandbox == nil ? account : .root,
            environment: environment,
            input: socket,
            log: log
        )
        let daemon = SystemDaemon(process, log, broker)
        try await Deadline.wait(for: "the daemon of \(user.name)") { () -> Bool? in
            if daemon.log.contains(" listening ") { return true }
            guard process.isRunning else {
                throw TestKitError.unexpected("the daemon ended: \(daemon.log)")
            }
            return nil
        }
        return daemon
    }
}

/// A daemon of a ``SystemModeMachine``, killed when the value is released.
package final class SystemDaemon: Sendable {
    /// Its process.
    package let process: ChildProcess
    private let path: String
    private let broker: SystemBroker?

    init(_ process: ChildProcess, _ path: String, _ broker: SystemBroker?) {
        (self.process, self.path, self.broker) = (process, path, broker)
    }

    /// Its standard error so far.
    package var log: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// Waits until whole lines of the log contain a text, and returns them.
    @discardableResult
    package func expectLogged(_ text: String, count: Int = 1) async throws -> [Substring] {
        try await Deadline.wait(for: "'\(text)' in the log") {
            let lines = log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            let found = lines.filter { $0.contains(text) }
            return found.count >= count ? found : nil
        }
    }
}
