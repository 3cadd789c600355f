import Desk
import Foundation
import KeychainEngine
import KeychainModel
import PeerSockets
import SSHAgentServer
import SSHFormat
import Testing
import TouchstoneTesting

/// The cells: no keychain, cold, unlocked, locked; no key, one, one for a host; not bound, bound, forwarded, bound twice; login, login
/// bound to a host, message, anything else; allowed, cancelled, gone, stopped; known, unknown, revoked host.
@Suite("The ssh-agent", .timeLimit(.minutes(20)))
struct SSHAgentTests {
    private let world: DeskWorld
    private let directory: TemporaryDirectory
    private let notes = RememberedKeys()
    private let host: SSHHost
    private let other: SSHHost
    private static let session: [UInt8] = Array(repeating: 1, count: 32)
    private static let otherSession: [UInt8] = Array(repeating: 2, count: 32)

    init() async throws {
        world = try DeskWorld()
        try await world.setUp()
        directory = try TemporaryDirectory()
        host = try SSHHost()
        other = try SSHHost()
        try "git.example.org,192.0.2.1 \(host.key.line(comment: ""))\n"
            .write(toFile: directory.appending("known_hosts"), atomically: true, encoding: .utf8)
    }

    private func server(_ world: DeskWorld? = nil, names: HostNames? = nil) throws -> SSHAgentServer {
        try SSHAgentServer(
            desk: (world ?? self.world).desk,
            identity: ClientIdentity(ownProgram: DeskWorld.command),
            owner: .ofThisProcess(),
            names: names
                ?? HostNames(paths: [directory.appending("known_hosts"), directory.appending("missing")]),
            notes: notes
        )
    }

    @discardableResult
    private func makeKey(
        _ name: String = "work",
        _ flags: AccessControlFlags = [.devicePasscode, .privateKeyUsage],
        for hosts: [NamedKey.Host] = [],
        in other: DeskWorld? = nil
    ) async throws -> SSHPublicKey {
        let command = (other ?? world).desk.visit(by: DeskWorld.asker(DeskWorld.command))
        defer { command.end() }
        let rule = try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: flags)
        let made = try await command.makeKey(
            MakeKey(accessControl: rule, group: NamedKey.group, prompt: PromptFields()),
            request: 1
        )
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: NamedKey(name: name, key: made, hosts: hosts).attributes,
            accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
            data: nil,
            prompt: PromptFields()
        )
        _ = try await command.add(item, request: 2)
        return try SSHPublicKey(p256: made.publicKey)
    }

    /// The one box of a signature, in which the passcode is typed.
    private func box(of client: SSHAgentClient, _ data: [UInt8], by key: SSHPublicKey) async throws -> Prompt
    {
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode))
        let before = world.prompter.boxes.count
        #expect(try await client.signs(data, by: key))
        #expect(world.prompter.boxes.count == before + 1)
        return try #require(world.prompter.boxes.last)
    }

    // MARK: Lists

    @Test("a list has the keys with their names, and shows no prompt; add, remove and lock are refused")
    func list() async throws {
        let client = try SSHAgentClient(try server())
        #expect(try await client.list()?.isEmpty == true)
        let work = try await makeKey("work")
        let home = try await makeKey("home \u{1B}[2J")
        let boxes = world.prompter.boxes.count
        let listed = try #require(try await client.list())
        #expect(listed.map(\.key) == [work, home])
        #expect(listed.map(\.comment) == ["work", "home \u{1B}[2J"])
        #expect(world.prompter.boxes.count == boxes)
        for refused: UInt8 in [17, 18, 19, 20, 21, 22, 23, 25, 26, 99] {
            #expect(try await client.ask([refused]) == [5], "\(refused)")
        }
        let query = try #require(try await client.ask([27, 0, 0, 0, 5] + Array("query".utf8)))
        var reader = SSHReader(query)
        #expect(try reader.readByte() == 29)
        #expect(try reader.readText() == "query")
        #expect(try reader.readText() == "session-bind@openssh.com")
        #expect(try await client.ask([27, 0, 0, 0, 1, 0x78]) == [5], "another extension")
        #expect(try await client.list()?.count == 2, "the connection goes on")
    }

    /// A run of the daemon on a keychain.
    private func run(at path: String, _ body: (DeskWorld) async throws -> Void) async throws {
        let world = try DeskWorld(at: path)
        try await body(world)
        await world.engine.close()
    }

    @Test("before set-up, and cold without notes, a list is refused: unknown is not none")
    func cold() async throws {
        let place = directory.appending("keychain")
        try await run(at: place) { world in
            #expect(try await SSHAgentClient(try server(world)).list() == nil)
            try await world.setUp()
        }
        try await run(at: place) { world in
            let client = try SSHAgentClient(try server(world))
            #expect(try await client.list() == nil)
            world.prompter.will(.type(DeskWorld.passcode))
            try await world.desk.visit(by: DeskWorld.asker()).unlock(PromptFields())
            #expect(try await client.list()?.isEmpty == true)
        }
        try await run(at: place) { world in
            let client = try SSHAgentClient(try server(world))
            #expect(try await client.list()?.isEmpty == true)
        }
    }

    @Test("cold with notes a list has the public keys, and the first use unlocks")
    func coldWithNotes() async throws {
        let place = directory.appending("keychain")
        var key: SSHPublicKey?
        try await run(at: place) { world in
            try await world.setUp()
            key = try await makeKey("work", in: world)
            #expect(try await SSHAgentClient(try server(world)).list()?.map(\.comment) == ["work"])
        }
        let made = try #require(key)
        try await run(at: place) { world in
            let client = try SSHAgentClient(try server(world))
            let listed = try #require(try await client.list())
            #expect(listed.map(\.key) == [made] && listed.map(\.comment) == ["touchstone"])
            #expect(world.prompter.boxes.isEmpty)
            world.prompter.will(.type(DeskWorld.passcode))
            #expect(try await client.signs(sshMessage("git"), by: made))
            #expect(world.prompter.boxes.count == 1, "the passcode that unlocks is the authentication too")
            #expect(try await client.list()?.map(\.comment) == ["work"])
            world.prompter.will(.cancel)
            #expect(try await !client.signs(sshMessage("git"), by: made), "each signature asks")
        }
    }

    @Test("while the screen is locked keys are listed, and a signature unlocks with the passcode")
    func locked() async throws {
        let key = try await makeKey()
        let client = try SSHAgentClient(try server())
        try await world.desk.visit(by: DeskWorld.asker()).lock()
        #expect(try await client.list()?.count == 1)
        let box = try await box(of: client, sshMessage("git"), by: key)
        #expect(box.heading.contains("unlock"))
    }

    // MARK: Signatures

    @Test("a bound login names user, host, key and program; each asks anew, and a cancelled one is refused")
    func login() async throws {
        let key = try await makeKey("work")
        let client = try SSHAgentClient(try server())
        #expect(try await client.bind(try host.binding(Self.session)))
        for hostKey in [nil, host.key] {
            let box = try await box(of: client, sshLogin(Self.session, by: key, host: hostKey), by: key)
            #expect(box.reason == "Sign in as 'git' at 'git.example.org' with the key 'work'.")
            #expect(box.requester.hasPrefix("the ssh-agent, for /"))
            #expect(box.details.items.first == "Host key: \(host.key.fingerprint)")
            #expect(box.details.items.count == 1 && !box.startedBy.isEmpty)
        }
        world.prompter.forget()
        world.prompter.will(.cancel)
        #expect(try await !client.signs(sshLogin(Self.session, by: key), by: key))
    }

    @Test(
        "without a binding the box says that no host was named, and with an unknown host that it is unknown"
    )
    func unnamed() async throws {
        let key = try await makeKey()
        let client = try SSHAgentClient(try server())
        let unbound = try await box(of: client, sshLogin(Self.session, by: key, host: host.key), by: key)
        #expect(unbound.reason == "Sign in as 'git' at a host that was not named with the key 'work'.")
        #expect(!unbound.details.items.contains { $0.hasPrefix("Host key") }, "nobody has proved it")
        #expect(try await client.bind(try other.binding(Self.session)))
        let unknown = try await box(of: client, sshLogin(Self.session, "x\u{202E}y", by: key), by: key)
        #expect(unknown.reason.contains("at an unknown host"))
        // A user's name cannot end its quotation marks, nor push the host out of sight.
        let spoof = "git' at 'github.com' with the key 'work'.\n" + String(repeating: " x", count: 500)
        let spoofed = try await box(of: client, sshLogin(Self.session, spoof, by: key), by: key)
        #expect(
            spoofed.reason
                == "Sign in as 'git? at ?github.com? with the key ?work…' at an unknown host with the key 'work'."
        )
        #expect(unknown.details.items.first == "Host key: \(other.key.fingerprint)")
    }

    @Test("what is not the bound session's login, or is no login and no message, is refused without a prompt")
    func refused() async throws {
        let key = try await makeKey()
        let stranger = try SSHHost().key
        let boxes = world.prompter.boxes.count
        let client = try SSHAgentClient(try server())
        let nonsense: [[UInt8]] = [
            [], [1], Array(repeating: 0, count: 32), sshLogin(Self.session, by: key) + [0],
        ]
        for data in nonsense { #expect(try await !client.signs(data, by: key), "\(data.count) bytes") }
        #expect(try await !client.signs(sshMessage("git"), by: stranger), "a key that is not here")
        var forged = try host.binding(Self.session)
        forged[forged.count - 10] ^= 1
        #expect(try await client.ask(forged) == [28])
        #expect(try await client.bind(try host.binding(Self.session)))
        #expect(try await !client.bind(try other.binding(Self.otherSession)), "after one for a login")
        #expect(try await !client.signs(sshLogin(Self.otherSession, by: key), by: key))
        #expect(try await !client.signs(sshLogin(Self.session, by: key, host: other.key), by: key))
        #expect(try await !client.signs(sshMessage("git"), by: key), "on a connection for a login")
        #expect(world.prompter.boxes.count == boxes)
    }

    @Test(
        "a forwarded request names the hosts on its way, and one that is bound to none of its own is refused"
    )
    func forwarded() async throws {
        let key = try await makeKey()
        let client = try SSHAgentClient(try server())
        #expect(try await client.bind(try host.binding(Self.session, isForwarding: true)))
        let boxes = world.prompter.boxes.count
        #expect(try await !client.signs(sshLogin(Self.session, by: key), by: key))
        #expect(world.prompter.boxes.count == boxes)
        let message = try await box(of: client, sshMessage("git"), by: key)
        #expect(message.reason == "Sign for 'git' with the key 'work'.")
        #expect(message.details.items.first == "Forwarded through: git.example.org")
        #expect(try await client.bind(try other.binding(Self.otherSession)))
        let login = try await box(of: client, sshLogin(Self.otherSession, by: key), by: key)
        #expect(login.reason.contains("at an unknown host"))
        #expect(
            login.details.items.prefix(2) == [
                "Host key: \(other.key.fingerprint)", "Forwarded through: git.example.org",
            ]
        )
    }

    @Test("a key for a host signs logins there alone, and other hosts do not see it")
    func hosts() async throws {
        let key = try await makeKey("deploy", for: [try other.allowed("deploy.example.org")])
        let free = try await makeKey("free")
        let boxes = world.prompter.boxes.count
        let unbound = try SSHAgentClient(try server())
        #expect(try await unbound.list()?.count == 2)
        #expect(try await !unbound.signs(sshLogin(Self.session, by: key, host: other.key), by: key))
        #expect(try await !unbound.signs(sshMessage("git"), by: key))
        let elsewhere = try SSHAgentClient(try server())
        #expect(try await elsewhere.bind(try host.binding(Self.session)))
        #expect(try await elsewhere.list()?.map(\.key) == [free])
        #expect(try await !elsewhere.signs(sshLogin(Self.session, by: key), by: key))
        #expect(world.prompter.boxes.count == boxes)
        let there = try SSHAgentClient(try server())
        #expect(try await there.bind(try other.binding(Self.session)))
        #expect(try await there.list()?.count == 2)
        let box = try await box(of: there, sshLogin(Self.session, by: key, host: other.key), by: key)
        #expect(box.reason == "Sign in as 'git' at 'deploy.example.org' with the key 'deploy'.")
    }

    @Test("a revoked host gets no signature")
    func revoked() async throws {
        try "@revoked * \(host.key.line(comment: ""))\n"
            .write(toFile: directory.appending("known_hosts"), atomically: true, encoding: .utf8)
        let key = try await makeKey()
        let client = try SSHAgentClient(try server())
        #expect(try await client.bind(try host.binding(Self.session)))
        let boxes = world.prompter.boxes.count
        #expect(try await !client.signs(sshLogin(Self.session, by: key), by: key))
        #expect(world.prompter.boxes.count == boxes)
    }

    @Test(
        "known hosts that cannot be read whole give a bound connection no signature: a host may be revoked there",
        arguments: ["too long", "a directory", "a pipe", "not to be read", "behind a file", "missing"]
    )
    func unreadable(_ fault: String) async throws {
        let path = directory.appending("known_hosts")
        try FileManager.default.removeItem(atPath: path)
        let revocation = "@revoked * \(host.key.line(comment: ""))\n"
        switch fault {
        case "too long":
            try
                (String(repeating: "#", count: KnownHosts.longest - revocation.utf8.count) + "\n" + revocation)
                .write(toFile: path, atomically: true, encoding: .utf8)
        case "a directory":
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case "a pipe": #expect(mkfifo(path, 0o600) == 0)
        case "not to be read":
            // A loop of links is unreadable for root too.
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        default: break
        }
        let key = try await makeKey()
        let names = HostNames(paths: [fault == "behind a file" ? "/dev/null/known_hosts" : path])
        let client = try SSHAgentClient(try server(names: names))
        #expect(try await client.bind(try host.binding(Self.session)))
        let isMissing = fault == "missing" || fault == "behind a file"
        let boxes = world.prompter.boxes.count
        if isMissing {
            _ = try await box(of: client, sshLogin(Self.session, by: key), by: key)
        } else {
            #expect(try await !client.signs(sshLogin(Self.session, by: key), by: key))
            #expect(world.prompter.boxes.count == boxes)
        }
        // A message goes to no host.
        let other = try SSHAgentClient(try server(names: names))
        _ = try await box(of: other, sshMessage("git"), by: key)
    }

    @Test("a deleted key signs no more, and a key without a rule asks nobody")
    func deleted() async throws {
        let key = try await makeKey("free", [])
        let client = try SSHAgentClient(try server())
        let boxes = world.prompter.boxes.count
        #expect(try await client.signs(sshMessage("git"), by: key))
        #expect(world.prompter.boxes.count == boxes)
        let command = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
        let deletion = DeleteItems(query: NamedKey.named("free"), prompt: PromptFields())
        #expect(try await command.delete(deletion).count == 1)
        #expect(try await client.list()?.isEmpty == true)
        #expect(try await !client.signs(sshMessage("git"), by: key))
    }

    @Test("a program that is not the command neither finds nor deletes the keys by the other door")
    func groups() async throws {
        try await makeKey()
        let app = world.desk.visit(by: DeskWorld.asker("/usr/bin/app"))
        await #expect(throws: KeychainError(.missingEntitlement)) {
            _ = try await app.delete(DeleteItems(query: NamedKey.named("work"), prompt: PromptFields()))
        }
        let all = DeleteItems(
            query: ItemQuery(itemClass: .genericPassword, limit: .all),
            prompt: PromptFields()
        )
        await #expect(throws: KeychainError(.itemNotFound)) { _ = try await app.delete(all) }
        #expect(try await SSHAgentClient(try server()).list()?.count == 1)
    }

    // MARK: Connections

    @Test("a client that goes takes its prompt with it, and so does the agent when it stops")
    func gone() async throws {
        let key = try await makeKey()
        let server = try server()
        for leaves in [true, false] {
            let client = try SSHAgentClient(server)
            let before = world.prompter.boxes.count
            world.prompter.forget()
            client.askToSign(sshMessage("git"), by: key)
            _ = await world.prompter.box(before + 1)
            #expect(world.prompter.visibleCount == 1)
            if leaves { client.hangUp() } else { await server.stop() }
            try await Deadline.wait(for: "the prompt's end") { world.prompter.visibleCount == 0 ? true : nil }
            if !leaves { #expect(try await client.answer() == nil) }
        }
        #expect(server.idleTime != nil)
    }

    @Test("malformed and too long frames end the connection, and no other one")
    func malformed() async throws {
        let server = try server()
        let steady = try SSHAgentClient(server)
        let frames: [[UInt8]] = [
            [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], [0, 4, 0, 1], [0, 0, 0, 2, 11, 0],
            [0, 0, 0, 5, 13, 0, 0, 0, 9],
        ]
        for frame in frames {
            let client = try SSHAgentClient(server)
            client.sendBytes(frame)
            #expect(try await client.answer() == nil, "\(frame)")
        }
        #expect(try await steady.list()?.isEmpty == true)
    }

    @Test("several clients are served while one waits for the user")
    func several() async throws {
        let key = try await makeKey()
        let server = try server()
        let waiting = try SSHAgentClient(server)
        world.prompter.forget()
        let before = world.prompter.boxes.count
        waiting.askToSign(sshMessage("git"), by: key)
        _ = await world.prompter.box(before + 1)
        for _ in 0..<20 { #expect(try await SSHAgentClient(server).list()?.count == 1) }
        waiting.hangUp()
    }
}
