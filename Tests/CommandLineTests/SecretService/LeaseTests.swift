import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import SecretMemory
import Testing
import TouchstoneTesting

/// How a gesture is asked for.
///
/// The cells: a window, and none; within it, after it, after more than three reads; for another client,
/// after a lock, ended by number, all, by the client's end; a read that waits: shown, cancelled, gone, of one and of several; a rule for
/// programs: for one of them, for another, with attributes, ended; the rule before the secrets.
@Suite(
    "Windows, waiting reads and programs",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct LeaseTests {
    private let world: SecretServiceWorld
    private let client: SecretsPeer

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
    }

    private func isLocked(_ item: String, for client: SecretsPeer) async -> Bool {
        await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
            == SecretsPeer.isLocked
    }

    /// A secret behind the passcode.
    private func protected(_ options: String..., label: String = "bank") async throws -> String {
        let (item, _) = try await client.create(label, ["n": label])
        let result = try await world.touchstone(
            all: ["protect", "--match", "n=\(label)", "--require", "passcode"] + options
        )
        #expect(result.status == 0, "\(result.errors)")
        try await waitUntilLocked(item)
        return item
    }

    private func waitUntilLocked(_ item: String) async throws {
        try await Deadline.wait(for: "the report of the change") {
            try await client.property(item, SecretsPeer.item, "Locked") == .boolean(true) ? true : nil
        }
    }

    private func leases() async throws -> [[String]] {
        let list = try await world.touchstone("lease")
        #expect(list.status == 0, "\(list.errors)")
        return list.text.split(separator: "\n").map { $0.components(separatedBy: "\t") }
    }

    // MARK: Windows

    @Test("with a window one gesture counts for any number of reads, for one client, until it is ended")
    func window() async throws {
        let item = try await protected("--window", "10min")
        #expect(try await leases().isEmpty)
        let before = world.keychain.boxes.count
        let end = try await client.show(try await client.unlock([item]).prompt)
        #expect(!end.isDismissed && world.keychain.boxes.count == before + 1)
        // Each ends by itself.
        let neighbour = try await world.client()
        _ = try await neighbour.show(try await neighbour.unlock([item]).prompt)
        let theirs = try #require(try await leases().last)
        #expect(try await leases().count == 2)
        #expect(try await world.touchstone("lease", "end", theirs[0]).status == 0)
        #expect(await isLocked(item, for: neighbour))
        let box = try #require(world.keychain.boxes.last)
        #expect(box.contains("Read the secret 'bank', for 10 min."), "\(box)")
        for _ in 0..<10 { #expect(try await client.read(item) == SecretServiceWorld.secret) }
        let second = try await world.client()
        #expect(await isLocked(item, for: second))

        let lease = try #require(try await leases().first)
        #expect(lease.count == 6 && lease[2] == String(getpid()) && lease[4] == "any" && lease[5] == "bank")
        #expect((500...600).contains(Int(lease[3]) ?? 0))
        let json = try await world.touchstone("lease", "list", "--json")
        #expect(json.text.contains("\"readsLeft\": null") && json.text.contains("\"secret\": \"bank\""))
        #expect(!json.text.contains(SecretServiceWorld.secret))
        #expect(try await world.touchstone("lease", "end", "7316").status == 3)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        #expect(try await world.touchstone("lease", "end", lease[0]).status == 0)
        #expect(await isLocked(item, for: client))
        #expect(try await leases().isEmpty)

        // All, a lock of the keychain, and the client's own.
        for end in [["lease", "end", "--all"], ["lock"]] {
            _ = try await client.show(try await client.unlock([item]).prompt)
            #expect(try await client.read(item) == SecretServiceWorld.secret)
            #expect(try await world.touchstone(all: end).status == 0)
            #expect(await isLocked(item, for: client), "\(end)")
        }
        _ = try await client.show(try await client.unlock([item]).prompt)
        #expect(try await client.lock([item]) == [item])
        #expect(await isLocked(item, for: client))
        #expect(try await leases().isEmpty)
    }

    @Test("a window ends by the clock, and with the client")
    func end() async throws {
        let item = try await protected("--window", "3s")
        _ = try await client.show(try await client.unlock([item]).prompt)
        try await Deadline.wait(for: "the end of the window") {
            await isLocked(item, for: client) ? true : nil
        }
        #expect(try await leases().isEmpty)

        let other = try await protected("--window", "10min", label: "post")
        let second = try await world.client()
        _ = try await second.show(try await second.unlock([other]).prompt)
        #expect(try await leases().count == 1)
        await second.peer.close()
        try await Deadline.wait(for: "the end of the client") { try await leases().isEmpty ? true : nil }
    }

    @Test("two secrets of different windows need two gestures")
    func different() async throws {
        let (long, short) = (try await protected("--window", "10min"), try await protected(label: "post"))
        let before = world.keychain.boxes.count
        let end = try await client.show(try await client.unlock([long, short]).prompt)
        #expect(end.result.paths == [long, short] && world.keychain.boxes.count == before + 2)
        #expect(Set(try await leases().map { $0[4] }) == ["any", "3"])
    }

    @Test("whoever changes how a gesture is asked for has to give it, and replacing a secret changes nothing")
    func change() async throws {
        let item = try await protected("--window", "10min")
        let before = world.keychain.boxes.count
        let (same, _) = try await client.create("bank", ["n": "bank"], "new", replaces: true)
        #expect(same == item)
        let list = try await world.touchstone("secrets", "list", "--json")
        #expect(list.text.contains("\"window\": 600"), "\(list.text)")
        try world.keychain.setCancels(true)
        #expect(
            try await world.touchstone("protect", "--match", "n=bank", "--require", "passcode").status == 4
        )
        #expect(try await world.touchstone("secrets", "list", "--json").text.contains("\"window\": 600"))
        try world.keychain.setCancels(false)
        #expect(
            try await world.touchstone("protect", "--match", "n=bank", "--require", "passcode").status == 0
        )
        #expect(try await !world.touchstone("secrets", "list", "--json").text.contains("\"window\": 600"))
        #expect(world.keychain.boxes.count >= before + 2)
    }

    // MARK: Reads that wait

    @Test(
        "a read waits for the gesture where it is to; a cancelled one is refused, and one given up closes its box"
    )
    func waiting() async throws {
        let item = try await protected("--legacy", "wait")
        let other = try await protected(label: "post")
        var before = world.keychain.boxes.count
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        #expect(world.keychain.boxes.count == before + 1)
        #expect(await isLocked(other, for: client))
        #expect(try await client.lock([item]) == [item])
        // Several at once: what waits comes, what does not is left out.
        before = world.keychain.boxes.count
        #expect(try await client.read([other, item]) == [item: SecretServiceWorld.secret])
        #expect(world.keychain.boxes.count == before + 1)
        #expect(try await client.lock([item]) == [item])

        try world.keychain.setCancels(true)
        #expect(await isLocked(item, for: client))
        #expect(try await client.read([item]).isEmpty)
        try world.keychain.setCancels(false)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        // A client that locked it means it.
        #expect(try await client.lock([SecretServiceWorld.login]) == [SecretServiceWorld.login])
        before = world.keychain.boxes.count
        #expect(await isLocked(item, for: client))
        #expect(world.keychain.boxes.count == before)
    }

    @Test("the client of a waiting read goes, and its box with it: the next client is asked at once")
    func gone() async throws {
        let item = try await protected("--legacy", "wait")
        try ScriptedPinentry.tell(Array(repeating: .waits, count: 10), home: world.keychain.home.path)
        let second = try await world.client()
        let before = world.keychain.boxes.count
        let asked = Task { try await second.read(item) }
        try await Deadline.wait(for: "the box") { world.keychain.boxes.count > before ? true : nil }
        await second.peer.close()
        try ScriptedPinentry.tell([], home: world.keychain.home.path)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        _ = await asked.result
    }

    @Test(
        "the door is killed while a read waits: the box goes, the caller gets an error, and the next one is asked anew"
    )
    func doorKilled() async throws {
        let item = try await protected("--legacy", "wait")
        try ScriptedPinentry.tell(Array(repeating: .waits, count: 10), home: world.keychain.home.path)
        let before = world.keychain.boxes.count
        let asked = Task {
            await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
        }
        try await Deadline.wait(for: "the box") { world.keychain.boxes.count > before ? true : nil }
        try await world.stopDoor(with: SIGKILL)
        #expect(await asked.value == "org.freedesktop.DBus.Error.NoReply")
        try ScriptedPinentry.tell([], home: world.keychain.home.path)
        try await world.startDoor()
        let next = try await world.client()
        #expect(try await leases().isEmpty)
        #expect(try await next.read(item) == SecretServiceWorld.secret)
        #expect(world.keychain.boxes.count == before + 2)
    }

    @Test(
        "there are at most 256 rules; the next one is refused, changes nothing, and takes the place of one that ended",
        .enabled(if: CaseSize.isFull, "at full size only: Scripts/test-full")
    )
    func mostRules() async throws {
        let script = """
            for i in $(seq 1 256); do "$1" protect --match n=$i --from-programs none 2>/dev/null || exit 9; done
            """
        #expect(try await world.run("/bin/sh", "-c", script, "sh", Programs.touchstone).status == 0)
        let refused = try await world.touchstone("protect", "--match", "n=257", "--from-programs", "none")
        #expect(
            refused.status == 1 && refused.errors.contains("there are 256 rules already"),
            "\(refused.errors)"
        )
        #expect(try await !world.touchstone("secrets", "list", "--json").text.contains("\"n\": \"257\""))
        // One that is there can be changed.
        let same = ["--match", "n=256", "--from-programs", "none"]
        #expect(
            try await world.touchstone("protect", same[0], same[1], same[2], same[3], "--require", "passcode")
                .status == 0
        )
        #expect(try await world.touchstone("unprotect", same[0], same[1], same[2], same[3]).status == 0)
        #expect(
            try await world.touchstone("protect", "--match", "n=257", "--from-programs", "none").status == 0
        )
    }

    // MARK: Programs

    @Test("a rule for programs is for what they start, and for nobody else; it wraps no key")
    func programs() async throws {
        let (item, _) = try await client.create("token", ["n": "token"])
        let (other, _) = try await client.create("other", ["n": "other"])
        let made = try await world.touchstone(
            "protect",
            "--from-programs",
            "no-such-agent,agent-7316",
            "--match",
            "n=token",
            "--require",
            "passcode"
        )
        #expect(made.status == 0 && made.errors.contains("agent-7316, no-such-agent"), "\(made.errors)")
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        let lookup = "/usr/bin/secret-tool lookup n"
        let agent = "printf agent-7316 > /proc/$$/comm; "
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/secret-tool") else { return }
        func run(_ script: String) async throws -> CommandResult {
            try await world.run("/bin/sh", "-c", script + "; true")
        }
        // Of itself, and of what it started.
        for script in ["\(lookup) token", "/bin/sh -c '\(lookup) token; true'"] {
            #expect(try await run(script).text == SecretServiceWorld.secret)
            let before = world.keychain.boxes.count
            let result = try await run(agent + script)
            #expect(result.text == SecretServiceWorld.secret, "\(result.errors)")
            #expect(world.keychain.boxes.count == before + 1)
            #expect(world.keychain.boxes.last?.contains("(agent-7316)") == true)
        }
        try world.keychain.setCancels(true)
        #expect(try await run(agent + "\(lookup) token").text.isEmpty)
        #expect(try await run(agent + "\(lookup) other").text == SecretServiceWorld.secret)
        let list = try await world.touchstone("secrets", "list", "--json")
        #expect(list.text.contains("\"agent-7316\""), "\(list.text)")
        withExtendedLifetime(other) {}

        #expect(try await world.touchstone("unprotect", "--from-programs", "agent-7316").status == 3)
        try world.keychain.setCancels(false)
        let ended = try await world.touchstone(
            "unprotect",
            "--from-programs",
            "agent-7316,no-such-agent",
            "--match",
            "n=token"
        )
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(try await run(agent + "\(lookup) token").text == SecretServiceWorld.secret)
    }

    @Test("a rule is there before the secrets change: a cancelled gesture leaves it")
    func order() async throws {
        let item = try await protected()
        let (later, _) = try await client.create("b", ["n": "bank", "m": "1"])
        try world.keychain.setCancels(true)
        let refused = try await world.touchstone(
            "protect",
            "--match",
            "n=bank",
            "--match",
            "m=2",
            "--require",
            "passcode"
        )
        #expect(refused.status == 0, "\(refused.errors)")
        let change = try await world.touchstone("protect", "--match", "n=bank", "--require", "either")
        #expect(change.status == 4 && change.errors.contains("The rule counts"), "\(change.errors)")
        let list = try await world.touchstone("secrets", "list", "--json")
        #expect(list.text.contains("\"requires\": \"either\""), "\(list.text)")
        #expect(await isLocked(item, for: client))
        withExtendedLifetime(later) {}
    }

    @Test(
        "wrong uses are refused with what to do",
        arguments: [
            ["protect", "--match", "n=1", "--window", "16min"],
            ["protect", "--match", "n=1", "--window", "x"],
            ["protect", "--match", "n=1", "--legacy", "x"], ["protect", "a", "--from-programs", "x"],
            ["protect", "--from-programs", ""], ["protect", "--from-programs", "/usr/bin/node"],
            ["lease", "end"], ["lease", "end", "0"], ["lease", "end", "1", "--all"], ["lease", "end", "x"],
            ["log", "--reads", "--follow"],
        ]
    )
    func usage(_ arguments: [String]) async throws {
        var run = CommandRun(arguments: arguments, home: world.keychain.home)
        run.environment = world.variables
        let result = try await run.run()
        #expect(result.status == 64, "\(result.errors)")
        #expect(result.errors.contains("error: ") && result.errors.contains("hint: "), "\(result.errors)")
    }
}
