import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import SecretMemory
import TouchstoneTesting

/// A session bus with the real door on it, in front of a keychain of its own whose owner types the passcode at each box.
final class SecretServiceWorld: Sendable {
    static let program = Programs.directory + "/touchstone-secrets"
    static let root = "/org/freedesktop/secrets"
    static let login = root + "/collection/login"
    /// A number in the passcode's place marks a secret in memory.
    static let secret = "sec-7316-ret"

    static var isPossible: Bool {
        RealKeychain.isPossible && Programs.isBuilt(program) && Programs.isBuilt("/usr/bin/dbus-daemon")
    }

    let keychain: RealKeychain
    let bus: PrivateBus
    private let door = Guarded<StartedCommand?>(nil)

    /// Starts the bus, the keychain and the door.
    init(settings: [String] = [], startsDoor: Bool = true) async throws {
        bus = try await PrivateBus.start(sensors: [])
        keychain = try await RealKeychain.ready(settings: settings)
        if startsDoor { try await startDoor() }
    }

    /// The variables by which programs find bus and keychain.
    var variables: [String: String] {
        [
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "TOUCHSTONE_DAEMON": Programs.touchstoned,
            "DISPLAY": keychain.user?.displayName ?? ":7316", "LC_ALL": "C.UTF-8", "HOME": keychain.home.path,
        ]
    }

    /// Starts the door, or a copy of it, and waits until it has the name.
    func startDoor(_ program: String = SecretServiceWorld.program) async throws {
        var run = CommandRun(home: keychain.home)
        run.program = program
        run.environment = variables
        let started = try run.start()
        door.withLock { $0 = started }
        let peer = try await BusPeer(address: bus.address)
        try await Deadline.wait(for: "the Secret Service") {
            try await peer.owner(of: "org.freedesktop.secrets") != nil ? true : nil
        }
        await peer.close()
    }

    /// Starts GNOME Keyring, unlocked, in the place of the door.
    func startKeyring() async throws -> StartedCommand {
        let home = keychain.home
        for name in ["keyrings", "runtime"] {
            try FileManager.default.createDirectory(
                atPath: home.path + "/" + name,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            try keychain.give(home.path + "/" + name)
        }
        var run = CommandRun(
            arguments: ["--foreground", "--unlock", "--components=secrets"],
            home: home
        )
        run.program = "/usr/bin/gnome-keyring-daemon"
        run.input = .octets(Array("keyring password\n".utf8))
        run.environment = variables.merging([
            "XDG_DATA_HOME": home.path + "/keyrings", "XDG_RUNTIME_DIR": home.path + "/runtime",
        ]) { $1 }
        let keyring = try run.start()
        let peer = try await BusPeer(address: bus.address)
        try await Deadline.wait(for: "GNOME Keyring") {
            try await peer.owner(of: "org.freedesktop.secrets") != nil ? true : nil
        }
        await peer.close()
        return keyring
    }

    /// The door's process.
    var doorProcess: Int32 { door.withLock { $0?.processID } ?? -1 }

    /// Sends the door a signal and waits for its end.
    @discardableResult
    func stopDoor(with signal: Int32 = SIGTERM) async throws -> CommandResult? {
        guard let running = door.withLock({ $0.take() }) else { return nil }
        kill(running.processID, signal)
        return await running.result()
    }

    /// Waits until the door ends by itself.
    func endOfDoor() async -> CommandResult? { await door.withLock { $0.take() }?.result() }

    /// A client of its own.
    func client() async throws -> SecretsPeer {
        try await SecretsPeer(bus.address, as: keychain.user?.userID)
    }

    /// Calls `body` with a world in which GNOME Keyring stands in the place of the door.
    static func beside<R>(_ body: (SecretServiceWorld) async throws -> R) async throws -> R {
        let world = try await SecretServiceWorld(startsDoor: false)
        let keyring = try await world.startKeyring()
        let result = try await body(world)
        kill(keyring.processID, SIGTERM)
        _ = await keyring.result()
        return result
    }

    /// Ends the daemon; the next request starts another one.
    func endDaemon(by signal: Int32) async throws {
        guard let user = keychain.user else { return try keychain.stop(with: signal) }
        try await user.restart(by: signal)
    }

    /// Restarts the daemon: the keychain has not been unlocked since.
    func makeCold() async throws {
        try await endDaemon(by: SIGTERM)
        let status = try await touchstone("status")
        guard status.status == 0 else { throw TestKitError.unexpected(status.errors) }
    }

    /// Runs a program in a terminal of its own, on this bus.
    func run(_ program: String, _ arguments: String..., input: String? = nil) async throws -> CommandResult {
        try await run(program, all: arguments, input: input)
    }

    /// The same with the arguments as an array, and with additional variables.
    func run(
        _ program: String,
        all arguments: [String],
        input: String? = nil,
        variables more: [String: String] = [:]
    ) async throws -> CommandResult {
        var run = CommandRun(arguments: arguments, home: keychain.home)
        run.program = program
        run.terminal = try PseudoTerminal()
        run.input = input.map { .octets(Array($0.utf8)) } ?? .nothing
        run.environment = variables.merging(more) { $1 }
        return try await run.run()
    }

    /// Runs `touchstone` on this bus.
    func touchstone(_ arguments: String...) async throws -> CommandResult {
        try await touchstone(all: arguments)
    }

    /// The same with the arguments as an array.
    func touchstone(all arguments: [String]) async throws -> CommandResult {
        try await run(Programs.touchstone, all: arguments)
    }
}

/// A client of the Secret Service that says each call itself.
struct SecretsPeer: Sendable {
    /// A prompt's end.
    struct Completed: Sendable {
        let isDismissed: Bool
        let result: BusValue
    }

    static let service = "org.freedesktop.Secret.Service"
    static let collection = "org.freedesktop.Secret.Collection"
    static let item = "org.freedesktop.Secret.Item"
    static let isLocked = "org.freedesktop.Secret.Error.IsLocked"
    static let noSession = "org.freedesktop.Secret.Error.NoSession"
    static let noSuchObject = "org.freedesktop.Secret.Error.NoSuchObject"
    static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"

    let peer: BusPeer
    /// A plain session.
    let session: String
    private let signals = Guarded<[BusPeer.Signal]>([])

    init(_ address: String, as user: UInt32? = nil) async throws {
        peer = try await BusPeer(address: address, as: user)
        let (stream, journal) = (peer.signals, signals)
        Task { for await signal in stream { journal.withLock { $0.append(signal) } } }
        let reply = try await peer.call(
            Bus.Target("org.freedesktop.secrets", SecretServiceWorld.root, Self.service),
            "OpenSession",
            [.string("plain"), .variant(.string(""))]
        )
        guard reply.count == 2, reply[0] == .variant(.string("")), let path = reply[1].text else {
            throw TestKitError.unexpected("\(reply)")
        }
        session = path
    }

    func call(_ path: String, _ interface: String, _ method: String, _ arguments: [BusValue] = [])
        async throws
        -> [BusValue]
    {
        try await peer.call(Bus.Target("org.freedesktop.secrets", path, interface), method, arguments)
    }

    /// The name of the error with which a call fails; nil if it does not.
    func fault(_ path: String, _ interface: String, _ method: String, _ arguments: [BusValue] = []) async
        -> String?
    {
        do {
            _ = try await call(path, interface, method, arguments)
            return nil
        } catch BusError.remote(let name, _) {
            return name
        } catch {
            return "\(error)"
        }
    }

    // MARK: Items

    /// The argument for a secret in a session of this client.
    func secret(_ text: String, _ session: String? = nil) throws -> BusValue {
        .structure([
            .objectPath(session ?? self.session), .octets(try BusOctets(copying: [])),
            .octets(try BusOctets(copying: Array(text.utf8))), .string("text/plain"),
        ])
    }

    static func properties(_ label: String, _ attributes: [String: String]) -> BusValue {
        .properties([item + ".Label": .string(label), item + ".Attributes": .textPairs(attributes)])
    }

    /// Stores an item; the path of the item, and of a prompt.
    func create(
        _ label: String,
        _ attributes: [String: String],
        _ secret: String = SecretServiceWorld.secret,
        replaces: Bool = false,
        in collection: String = SecretServiceWorld.root + "/aliases/default"
    ) async throws -> (item: String, prompt: String) {
        let reply = try await call(
            collection,
            Self.collection,
            "CreateItem",
            [Self.properties(label, attributes), try self.secret(secret), .boolean(replaces)]
        )
        return (reply[0].text ?? "", reply[1].text ?? "")
    }

    /// The text of an item's secret.
    func read(_ item: String) async throws -> String {
        let reply = try await call(item, Self.item, "GetSecret", [.objectPath(session)])
        guard case .structure(let members)? = reply.first, members[0] == .objectPath(session) else {
            throw TestKitError.unexpected("\(reply)")
        }
        return String(decoding: members[2].octets?.plain ?? [], as: UTF8.self)
    }

    /// The texts of the secrets that `GetSecrets` gives, by path.
    func read(_ items: [String]) async throws -> [String: String] {
        let reply = try await call(
            SecretServiceWorld.root,
            Self.service,
            "GetSecrets",
            [.paths(items), .objectPath(session)]
        )
        guard case .array(of: "{o(oayays)}", let entries)? = reply.first else {
            throw TestKitError.unexpected("\(reply)")
        }
        var texts: [String: String] = [:]
        for case .entry(.objectPath(let path), .structure(let members)) in entries {
            texts[path] = String(decoding: members[2].octets?.plain ?? [], as: UTF8.self)
        }
        return texts
    }

    func search(_ attributes: [String: String]) async throws -> (unlocked: [String], locked: [String]) {
        let reply = try await call(
            SecretServiceWorld.root,
            Self.service,
            "SearchItems",
            [.textPairs(attributes)]
        )
        return (reply[0].texts ?? [], reply[1].texts ?? [])
    }

    func property(_ path: String, _ interface: String, _ name: String) async throws -> BusValue? {
        let reply = try await call(
            path,
            "org.freedesktop.DBus.Properties",
            "Get",
            [.string(interface), .string(name)]
        )
        return reply.first?.content
    }

    // MARK: Locks

    func unlock(_ paths: [String]) async throws -> (unlocked: [String], prompt: String) {
        let reply = try await call(SecretServiceWorld.root, Self.service, "Unlock", [.paths(paths)])
        return (reply[0].texts ?? [], reply[1].text ?? "")
    }

    func lock(_ paths: [String]) async throws -> [String] {
        try await call(SecretServiceWorld.root, Self.service, "Lock", [.paths(paths)])[0].texts ?? []
    }

    /// The signals of a name that came to this client.
    func received(_ member: String) -> [BusPeer.Signal] {
        signals.withLock { $0.filter { $0.member == member } }
    }

    /// Shows a prompt and waits for its end.
    func show(_ prompt: String) async throws -> Completed {
        _ = try await call(prompt, "org.freedesktop.Secret.Prompt", "Prompt", [.string("")])
        return try await end(of: prompt)
    }

    /// Waits for the end of a prompt.
    func end(of prompt: String) async throws -> Completed {
        try await Deadline.wait(for: "the end of the prompt") {
            received("Completed").first { $0.path == prompt }.flatMap { signal in
                guard signal.arguments.count == 2, let isDismissed = signal.arguments[0].truth,
                    let result = signal.arguments[1].content
                else { return nil }
                return Completed(isDismissed: isDismissed, result: result)
            }
        }
    }
}
