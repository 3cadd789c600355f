import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// GNOME's window for passwords, as it is, in front of the door: what a person sees and does in it, and what is in the keychain then.
@Suite(
    "Seahorse",
    .enabled(
        if: SecretServiceWorld.isPossible && SeahorseWindow.isPossible,
        "touchstone-secrets, seahorse, at-spi2-core, gir1.2-atspi-2.0, xdotool and Xvfb are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct SeahorseTests {
    private static let note = ["xdg:schema": "org.gnome.keyring.Note"]

    private func label(of item: String, _ client: SecretsPeer) async throws -> String? {
        try await client.property(item, SecretsPeer.item, "Label")?.text
    }

    @Test("it lists a collection and its items, shows a secret, and changes it")
    func reads() async throws {
        let world = try await SecretServiceWorld()
        let client = try await world.client()
        let (item, _) = try await client.create("Mail", ["user": "alice", "server": "example.org"])
        _ = try await client.create("Shopping", Self.note, "milk")
        _ = try await client.create(
            "bob@files.example.org",
            [
                "xdg:schema": "org.gnome.keyring.NetworkPassword", "protocol": "smb", "user": "bob",
                "server": "files.example.org",
            ]
        )
        let before = world.keychain.boxes.count
        let window = try await SeahorseWindow(world)
        // The collection in memory has no place there.
        #expect(
            try await window.act("rings", "Login") == [
                "GnuPG keys", "Login", "OpenSSH keys", "System Trust",
            ]
        )
        #expect(
            try await window.act("shown", "Mail / alice", "Shopping", "smb://bob@files.example.org/") == [
                "Mail / alice: Password or Secret", "Shopping: Stored note",
                "smb://bob@files.example.org/: Network password",
            ]
        )
        let seen = try await window.act("secret", "Mail")
        let secret = SecretServiceWorld.secret
        #expect(seen.prefix(2) == [String(repeating: "●", count: secret.count), secret])
        #expect(
            Set(seen.dropFirst(2)) == [
                "Mail", "Saved password or login", "Password", "alice", "example.org",
            ]
        )

        _ = try await window.act("change", "Mail", "Letters", "another")
        #expect(try await label(of: item, client) == "Letters")
        #expect(try await client.read(item) == "another")
        #expect(
            try await window.act("shown", "Letters / alice", "Shopping", "smb://bob@files.example.org/")
                .contains("Letters / alice: Password or Secret")
        )
        #expect(world.keychain.boxes.count == before)
    }

    @Test(
        "what is added and deleted there is in the keychain, and what others add and delete is seen there"
    )
    func changes() async throws {
        let world = try await SecretServiceWorld()
        let client = try await world.client()
        let (mail, _) = try await client.create("Mail", ["user": "alice"])
        let window = try await SeahorseWindow(world)
        _ = try await window.act("add", "Door code", "7316")
        let item = try #require(try await client.search(Self.note).unlocked.first)
        #expect(try await label(of: item, client) == "Door code")
        #expect(try await client.read(item) == "7316")
        #expect(
            try await window.act("shown", "Door code", "Mail / alice") == [
                "Door code: Stored note", "Mail / alice: Password or Secret",
            ]
        )
        let (other, _) = try await client.create("Other", ["user": "bob"])
        #expect(try await window.act("shown", "Door code", "Mail / alice", "Other / bob").count == 3)

        _ = try await window.act("ask", "Mail")
        #expect(
            try await window.act("confirm") == ["Are you sure you want to delete the password “Mail”?"]
        )
        #expect(
            await client.fault(mail, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.noSuchObject
        )
        #expect(
            try await window.act("shown", "Door code", "Other / bob") == [
                "Door code: Stored note", "Other / bob: Password or Secret",
            ]
        )
        _ = try await client.call(other, SecretsPeer.item, "Delete")
        #expect(try await window.act("shown", "Door code") == ["Door code: Stored note"])

        _ = try await window.act("ring", "Work")
        let work = SecretServiceWorld.root + "/collection/Work"
        #expect(try await client.property(work, SecretsPeer.collection, "Label") == .string("Work"))
        #expect(try await window.act("rings", "Work").contains("Work"))
    }

    @Test("it locks, for every client; what is locked is not seen, and unlocked by one box")
    func locks() async throws {
        let world = try await SecretServiceWorld()
        let client = try await world.client()
        let (item, _) = try await client.create("Mail", ["user": "alice"])
        let window = try await SeahorseWindow(world)
        #expect(try await window.act("shown", "Mail / alice").count == 1)
        #expect(try await window.act("lock").isEmpty)
        let property = try await client.property(
            SecretServiceWorld.login,
            SecretsPeer.collection,
            "Locked"
        )
        #expect(property == .boolean(true))
        #expect(
            await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.isLocked
        )

        let before = world.keychain.boxes.count
        try world.keychain.setCancels(true)
        _ = try await window.act("unlock")
        try await Deadline.wait(for: "the box") { world.keychain.boxes.count > before ? true : nil }
        #expect(try await window.act("locked").isEmpty)
        try world.keychain.setCancels(false)
        _ = try await window.act("unlock")
        #expect(try await window.act("shown", "Mail / alice").count == 1)
        #expect(try await window.act("secret", "Mail").dropFirst().first == SecretServiceWorld.secret)
        #expect(world.keychain.boxes.count == before + 2)
        let box = try #require(world.keychain.boxes.last)
        #expect(box.contains("the Secret Service, for \(SeahorseWindow.program) (process "), "\(box)")

        #expect(try await client.lock([SecretServiceWorld.login]) == [SecretServiceWorld.login])
        #expect(try await window.act("locked").isEmpty)
    }

    @Test("of a keychain not yet unlocked nothing is seen until its one box, and everything then")
    func cold() async throws {
        let world = try await SecretServiceWorld()
        let client = try await world.client()
        _ = try await client.create("Mail", ["user": "alice"])
        _ = try await client.create("Shopping", Self.note, "milk")
        try await world.makeCold()
        let window = try await SeahorseWindow(world)
        #expect(try await window.act("locked").isEmpty)
        let before = world.keychain.boxes.count
        _ = try await window.act("unlock")
        #expect(
            try await window.act("shown", "Mail / alice", "Shopping") == [
                "Mail / alice: Password or Secret", "Shopping: Stored note",
            ]
        )
        let second = try await SeahorseWindow(world, after: window)
        #expect(try await second.act("secret", "Shopping").dropFirst().first == "milk")
        #expect(world.keychain.boxes.count == before + 1)
    }

    @Test("a keychain that has to be unlocked again is seen to be locked by an open window")
    func coldAgain() async throws {
        let world = try await SecretServiceWorld()
        let client = try await world.client()
        _ = try await client.create("Mail", ["user": "alice"])
        let window = try await SeahorseWindow(world)
        #expect(try await window.act("shown", "Mail / alice").count == 1)
        try await world.makeCold()
        let property = try await client.property(
            SecretServiceWorld.login,
            SecretsPeer.collection,
            "Locked"
        )
        #expect(property == .boolean(true))
        #expect(try await window.act("locked").isEmpty)
    }

    @Test(
        "a protected secret is listed and stays away, without a box, and comes with one where reads wait"
    )
    func protected() async throws {
        let world = try await SecretServiceWorld()
        let client = try await world.client()
        let (item, _) = try await client.create("bank", ["user": "alice"])
        let name = String(item.split(separator: "/").last ?? "")
        #expect(try await world.touchstone("protect", name, "--require", "passcode").status == 0)
        var window = try await SeahorseWindow(world)
        #expect(try await window.act("shown", "bank / alice") == ["bank / alice: Password or Secret"])
        let before = world.keychain.boxes.count
        // Seahorse asks for no prompt: it shows an empty field.
        let sealed = ["", "grey", "bank", "Saved password or login", "Password", "alice"]
        #expect(try await window.act("sealed", "bank") == sealed)
        #expect(world.keychain.boxes.count == before)

        let waits = try await world.touchstone(
            "protect",
            name,
            "--require",
            "passcode",
            "--legacy",
            "wait"
        )
        #expect(waits.status == 0, "\(waits.errors)")
        let boxes = world.keychain.boxes.count
        // It tries once for each secret.
        window = try await SeahorseWindow(world, after: window)
        try world.keychain.setCancels(true)
        #expect(try await window.act("sealed", "bank") == sealed)
        #expect(world.keychain.boxes.count == boxes + 1)
        try world.keychain.setCancels(false)
        window = try await SeahorseWindow(world, after: window)
        #expect(try await window.act("secret", "bank").dropFirst().first == SecretServiceWorld.secret)
        #expect(world.keychain.boxes.count == boxes + 2)
        let box = try #require(world.keychain.boxes.last)
        #expect(
            box.contains("Read the secret 'bank'.")
                && box.contains("the Secret Service, for \(SeahorseWindow.program) (process "),
            "\(box)"
        )
        _ = try await window.act("ask", "bank")
        _ = try await window.act("confirm")
        let left = try await client.search([:])
        #expect(left.unlocked.isEmpty && left.locked.isEmpty)
    }

    @Test(
        "what it shows at each step is what it shows in front of GNOME Keyring",
        .enabled(
            if: Programs.isBuilt("/usr/bin/gnome-keyring-daemon"),
            "gnome-keyring is not installed"
        )
    )
    func sameAsKeyring() async throws {
        let theirs = try await SecretServiceWorld.beside { try await tour($0) }
        let ours = try await tour(try await SecretServiceWorld())
        #expect(ours.count == 8)
        for (ours, theirs) in zip(ours, theirs) { #expect(ours == theirs) }
    }

    /// What the window shows at each step.
    private func tour(_ world: SecretServiceWorld) async throws -> [[String]] {
        for (label, user) in [("Mail", "alice"), ("Chat", "bob")] {
            let stored = try await world.run(
                "/usr/bin/secret-tool",
                "store",
                "--label=\(label)",
                "user",
                user,
                input: "hello"
            )
            try #require(stored.status == 0, "\(stored.errors)")
        }
        let window = try await SeahorseWindow(world)
        var seen = [try await window.act("rings", "Login")]
        seen.append(try await window.act("shown", "Chat / bob", "Mail / alice"))
        seen.append(try await window.act("secret", "Mail"))
        _ = try await window.act("change", "Mail", "Letters", "another")
        seen.append(try await window.act("shown", "Chat / bob", "Letters / alice"))
        _ = try await window.act("add", "Door code", "7316")
        seen.append(try await window.act("shown", "Chat / bob", "Door code", "Letters / alice"))
        _ = try await window.act("ask", "Chat")
        seen.append(try await window.act("confirm"))
        seen.append(try await window.act("shown", "Door code", "Letters / alice"))
        seen.append(try await window.act("lock"))
        return seen
    }
}

/// Seahorse on a display of its own, with the bus of accessibility; it ends when released.
private struct SeahorseWindow {
    static let program = "/usr/bin/seahorse"
    private static let registry = "/usr/libexec/at-spi2-registryd"
    private static let configuration = "/usr/share/defaults/at-spi2/accessibility.conf"

    static var isPossible: Bool {
        let programs = [program, registry, XServer.program, "/usr/bin/xdotool", "/usr/bin/python3"]
        let libraries = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return programs.allSatisfy(Programs.isBuilt)
            && libraries.contains {
                FileManager.default.fileExists(atPath: "/usr/lib/\($0)/girepository-1.0/Atspi-2.0.typelib")
            }
    }

    /// What a step found, and the messages that are shown after it.
    private struct Outcome: Decodable {
        let result: [String]
        let alerts: [String]
    }

    private let world: SecretServiceWorld
    private let variables: [String: String]
    private let script: String
    /// The display's server, the bus of accessibility, and its registry.
    private let servers: [StartedCommand]
    private let seahorse: StartedCommand

    /// Starts everything, and shows the collection "Login".
    init(_ world: SecretServiceWorld) async throws {
        let home = world.keychain.home
        let options = "-noreset -nolisten tcp -screen 0 1100x850x24 -displayfd 1"
        let (display, number) = try await Self.serve("\(XServer.program) \(options)", "display", home, [:])
        // Its settings stay in memory, and it finds no system bus.
        var variables = world.variables.merging([
            "DISPLAY": ":" + number, "GSETTINGS_BACKEND": "memory",
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(home.path)/no-bus",
        ]) { $1 }
        // What would start the bus of accessibility leaves it behind when it is killed.
        let (bus, address) = try await Self.serve(
            "/usr/bin/dbus-daemon --config-file=\(Self.configuration) --nofork --print-address",
            "accessibility",
            home,
            variables
        )
        variables["AT_SPI_BUS_ADDRESS"] = address
        var registry = CommandRun(arguments: [], home: home)
        registry.program = Self.registry
        registry.environment = variables
        let running = try registry.start()
        let peer = try await BusPeer(address: String(address.prefix { $0 != "," }))
        try await Deadline.wait(for: "the registry of accessibility") {
            try await peer.owner(of: "org.a11y.atspi.Registry") != nil ? true : nil
        }
        await peer.close()
        let script = home.path + "/seahorse.py"
        try SeahorseScript.script.write(toFile: script, atomically: true, encoding: .utf8)
        try await self.init(world, variables, script, [display, bus, running])
    }

    /// Starts a server that writes where it is to its output, and returns that.
    private static func serve(
        _ command: String,
        _ name: String,
        _ home: TemporaryHome,
        _ variables: [String: String]
    ) async throws -> (StartedCommand, String) {
        let file = home.path + "/" + name
        var run = CommandRun("-c", "exec \(command) > \(file) 2> /dev/null", home: home)
        run.program = "/bin/sh"
        run.environment = variables
        let server = try run.start()
        let place = try await Deadline.wait(for: name) {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.hasSuffix("\n") ? String(text.dropLast()) : nil
        }
        return (server, place)
    }

    /// Ends a window, and starts another one.
    init(_ world: SecretServiceWorld, after window: SeahorseWindow) async throws {
        kill(window.seahorse.processID, SIGTERM)
        _ = await window.seahorse.result()
        try await self.init(world, window.variables, window.script, window.servers)
    }

    private init(
        _ world: SecretServiceWorld,
        _ variables: [String: String],
        _ script: String,
        _ servers: [StartedCommand]
    ) async throws {
        (self.world, self.variables, self.script, self.servers) = (world, variables, script, servers)
        let home = world.keychain.home
        var run = CommandRun("-c", "exec \(Self.program) > \(home.path)/seahorse.log 2>&1", home: home)
        run.program = "/bin/sh"
        run.environment = variables
        seahorse = try run.start()
        _ = try await act("show")
    }

    /// Does a step, and returns what it found; no message may be shown then.
    func act(_ step: String, _ arguments: String...) async throws -> [String] {
        var run = CommandRun(arguments: [script, step] + arguments, home: world.keychain.home)
        run.program = "/usr/bin/python3"
        run.environment = variables
        let result = try await run.run()
        try #require(result.status == 0, "\(step): \(result.errors)")
        let outcome = try JSONDecoder().decode(Outcome.self, from: Data(result.output))
        #expect(outcome.alerts.isEmpty, "\(step)")
        return outcome.result
    }
}
