package import FingerprintDriver
import Glibc
import MessageBus
import SecretMemory

/// A private system bus with polkit, fprintd and libfprint's virtual sensors on it.
///
/// ```swift
/// let bus = try await PrivateBus.start(sensors: [.image])
/// let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: bus.templateDirectory)
/// ```
///
/// All files lie in a temporary directory; everything ends with the value, or with the process.
package actor PrivateBus {
    /// One of libfprint's virtual sensors.
    package enum Sensor: String, Sendable, CaseIterable {
        /// Takes pictures, and compares them as a real sensor's driver does.
        case image
        /// Takes names of prints; can only compare a touch with one finger.
        case text
        /// Takes names of prints, stores the prints itself, and identifies.
        case storage

        /// The environment variable that tells libfprint where to put the socket.
        var variable: String {
            switch self {
            case .image: "FP_VIRTUAL_IMAGE"
            case .text: "FP_VIRTUAL_DEVICE"
            case .storage: "FP_VIRTUAL_DEVICE_STORAGE"
            }
        }

        /// The sensor's property `name`.
        package var deviceName: String {
            switch self {
            case .image: "Virtual image device for debugging"
            case .text: "Virtual device for debugging"
            case .storage: "Virtual device with storage and identification for debugging"
            }
        }
    }

    /// The directory of all files.
    package nonisolated let directory: TemporaryDirectory
    /// The bus address for libraries: `unix:path=…`.
    package nonisolated let address: String
    /// fprintd's state directory.
    package nonisolated let templateDirectory: String
    /// The sensors that fprintd has.
    package nonisolated let sensors: [Sensor]

    /// A command that runs the programs in another place, such as a namespace.
    private nonisolated let wrapper: [String]
    /// polkit's rules.
    private nonisolated let rules: String

    private var daemon: ChildProcess
    private var polkit: ChildProcess?
    private var scriptedPolkit: BusPeer?
    private nonisolated let isAllowed = Guarded(true)
    private var fprintd: ChildProcess?
    private var guests: [any AnyObject & Sendable] = []

    /// The bus address for an `FprintReader`.
    package nonisolated var busAddress: BusAddress { .testing(address, ownerUserID: geteuid()) }

    /// The socket of a sensor; it exists while the sensor is claimed.
    package nonisolated func socket(of sensor: Sensor) -> String {
        directory.appending("\(sensor.rawValue).sock")
    }

    /// Starts the bus, and also polkit and fprintd if there are sensors.
    ///
    /// - Parameters:
    ///   - sensors: none for a bus without fprintd.
    ///   - wrapper: a command that runs the programs, for example in a namespace.
    ///   - rules: polkit's rules; nil for rules that allow every user everything with fprintd.
    ///   - startsFprintd: false to call ``startFprintd()`` later: fprintd looks for logind only at its start.
    /// - Returns: the bus, with everything on it ready.
    /// - Throws: ``TestKitError`` when a program is missing or does not come up.
    package static func start(
        sensors: [Sensor] = [.image],
        through wrapper: [String] = [],
        rules: String? = nil,
        startsFprintd: Bool = true
    ) async throws -> PrivateBus {
        try await start(
            sensors: sensors,
            mayStartPolkit: geteuid() == 0,
            startsFprintd: startsFprintd,
            wrapper,
            rules
        )
    }

    /// Starts a bus with a scripted polkit, which ``deny()`` makes refuse, and without fprintd.
    static func startDeniable(sensors: [Sensor]) async throws -> PrivateBus {
        try await start(sensors: sensors, mayStartPolkit: false, startsFprintd: false)
    }

    private static func start(
        sensors: [Sensor],
        mayStartPolkit: Bool,
        startsFprintd: Bool,
        _ wrapper: [String] = [],
        _ rules: String? = nil
    ) async throws -> PrivateBus {
        let directory = try TemporaryDirectory(mode: 0o711)
        let socket = directory.appending("bus.sock")
        _ = try directory.write(busConfiguration(socket: socket), to: "bus.conf")
        let daemon = try await startDaemon(in: directory, wrapper)
        let templateDirectory = try directory.makeDirectory("state")
        let bus = PrivateBus(
            directory,
            socket,
            templateDirectory,
            sensors,
            daemon,
            wrapper,
            rules ?? Self.openRules
        )
        try await bus.waitForBus()
        if !sensors.isEmpty {
            try await bus.startPolkit(mayStart: mayStartPolkit)
            if startsFprintd { try await bus.startFprintd() }
        }
        return bus
    }

    private init(
        _ directory: TemporaryDirectory,
        _ socket: String,
        _ templateDirectory: String,
        _ sensors: [Sensor],
        _ daemon: ChildProcess,
        _ wrapper: [String],
        _ rules: String
    ) {
        self.wrapper = wrapper
        self.rules = rules
        self.directory = directory
        self.templateDirectory = templateDirectory
        self.sensors = sensors
        self.daemon = daemon
        address = "unix:path=\(socket)"
    }

    /// Starts a program through a wrapper.
    private static func start(
        _ program: String,
        _ arguments: [String],
        through wrapper: [String],
        environment: [String: String] = [:],
        log: String
    ) async throws -> ChildProcess {
        let command = wrapper + [program] + arguments
        return try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: environment,
            log: log
        )
    }

    private static func startDaemon(
        in directory: TemporaryDirectory,
        _ wrapper: [String]
    ) async throws -> ChildProcess {
        try await start(
            "/usr/bin/dbus-daemon",
            [
                "--config-file=\(directory.appending("bus.conf"))", "--nofork", "--nopidfile", "--nosyslog",
            ],
            through: wrapper,
            log: directory.appending("bus.log")
        )
    }

    /// Waits until the bus accepts connections: its socket exists a moment before it listens.
    private func waitForBus() async throws {
        let peer = try await Deadline.wait(for: "the bus") { try? await BusPeer(address: address) }
        await peer.close()
    }

    /// Kills the bus alone, as a crash would: all clients are disconnected from it.
    package func stopBus() { daemon.stop() }

    /// Restarts the bus at its address, without any clients.
    package func startBus() async throws {
        daemon = try await Self.startDaemon(in: directory, wrapper)
        try await waitForBus()
    }

    private static func busConfiguration(socket: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>system</type>
          <listen>unix:path=\(socket)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/>
            <allow own="*"/>
            <allow send_destination="*"/>
            <allow receive_sender="*"/>
          </policy>
          <limit name="max_connections_per_user">100000</limit>
          <limit name="max_completed_connections">100000</limit>
          <limit name="max_replies_per_connection">50000</limit>
        </busconfig>
        """
    }

    // MARK: polkit

    private static let openRules = """
        polkit.addRule(function(action, subject) {
            if (action.id.indexOf("net.reactivated.fprint.device.") == 0) return polkit.Result.YES;
        });
        """

    /// Starts polkitd with our rules if this process may mount, else a scripted peer that allows everything.
    private func startPolkit(mayStart: Bool) async throws {
        if mayStart, let polkit = try await startPolkitDaemon() {
            self.polkit = polkit
        } else {
            let isAllowed = isAllowed
            scriptedPolkit = try await ScriptedPolkit.start(address) { isAllowed.withLock { $0 } }
        }
    }

    /// Makes the scripted polkit refuse from now on.
    nonisolated func deny() { isAllowed.withLock { $0 = false } }

    private func startPolkitDaemon() async throws -> ChildProcess? {
        let program = "/usr/lib/polkit-1/polkitd"
        guard unsafe access(program, X_OK) == 0, unsafe access("/usr/bin/unshare", X_OK) == 0 else {
            return nil
        }
        let settings = try directory.makeDirectory("polkit", mode: 0o755)
        _ = try directory.makeDirectory("polkit/rules.d", mode: 0o755)
        _ = try directory.write(rules, to: "polkit/rules.d/10-fprint.rules")
        let polkit = try await Self.start(
            "/usr/bin/unshare",
            [
                "-m", "/bin/sh", "-c", "mount --bind \"$0\" /etc/polkit-1 && exec \"$1\" --no-debug",
                settings, program,
            ],
            through: wrapper,
            environment: environment,
            log: directory.appending("polkit.log")
        )
        let peer = try await BusPeer(address: address)
        let isThere = try await Deadline.wait(for: "polkitd") {
            if try await peer.owner(of: "org.freedesktop.PolicyKit1") != nil { return true }
            // The container forbids mounts: polkitd was not even started.
            return polkit.isRunning ? nil : false
        }
        await peer.close()
        return isThere ? polkit : nil
    }

    // MARK: fprintd

    /// Starts fprintd, and waits until it owns its name.
    package func startFprintd() async throws {
        guard fprintd == nil else { return }
        var environment = environment
        environment["STATE_DIRECTORY"] = templateDirectory
        for sensor in sensors { environment[sensor.variable] = socket(of: sensor) }
        let fprintd = try await Self.start(
            "/usr/libexec/fprintd",
            ["-t"],
            through: wrapper,
            environment: environment,
            log: directory.appending("fprintd.log")
        )
        self.fprintd = fprintd
        let peer = try await BusPeer(address: address)
        _ = try await Deadline.wait(for: "fprintd") { try await peer.owner(of: Fprint.busName) }
        await peer.close()
    }

    /// Kills fprintd as a crash would, and waits until the bus has released its name.
    package func killFprintd() async throws {
        guard let fprintd = fprintd.take() else { return }
        fprintd.stop()
        let witness = try await BusPeer(address: address)
        try await witness.waitUntilUnowned(Fprint.busName)
        await witness.close()
    }

    private var environment: [String: String] {
        ["DBUS_SYSTEM_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]
    }

    /// Keeps a scripted peer alive as long as the bus.
    func keep(_ guest: any AnyObject & Sendable) { guests.append(guest) }

    /// Stops everything; also called when the last reference to the bus is released.
    package func stop() async {
        fprintd?.stop()
        polkit?.stop()
        await scriptedPolkit?.close()
        daemon.stop()
        guests = []
    }
}

/// A peer that owns polkit's name and allows everything or nothing, where polkitd cannot be started.
enum ScriptedPolkit {
    static func start(
        _ address: String,
        isAllowed: @escaping @Sendable () -> Bool
    ) async throws -> BusPeer {
        let peer = try await BusPeer(address: address) { call in
            switch call.member {
            case "CheckAuthorization":
                // (is_authorized, is_challenge, details)
                BusPeer.Answer([.structure([.boolean(isAllowed()), .boolean(false), .array(of: "{ss}", [])])])
            case "GetAll": BusPeer.Answer([.array(of: "{sv}", [])])
            default: nil
            }
        }
        try await peer.own("org.freedesktop.PolicyKit1")
        return peer
    }
}
