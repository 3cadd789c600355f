import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// What is locked, and what unlocks it: collections, promised items, prompts; and the door's own end.
@Suite(
    "Locks and prompts of the Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct SecretServiceLockTests {
    private let world: SecretServiceWorld
    private let client: SecretsPeer
    private static let root = SecretServiceWorld.root
    private static let login = SecretServiceWorld.login

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
    }

    /// Restarts the daemon: the keychain has not been unlocked since.
    // MARK: Locks of a client

    @Test("a collection that a client locks needs the user again, for every client")
    func lock() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        #expect(try await client.lock([Self.login]) == [Self.login])
        let other = try await world.client()
        #expect(try await other.search(["user": "a"]).locked == [item])
        #expect(try await other.property(Self.login, SecretsPeer.collection, "Locked") == .boolean(true))
        #expect(try await other.property(item, SecretsPeer.item, "Locked") == .boolean(true))
        #expect(
            await other.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(other.session)])
                == SecretsPeer.isLocked
        )
        #expect(await other.fault(item, SecretsPeer.item, "Delete") == SecretsPeer.isLocked)
        #expect(try await other.read([item]).isEmpty)
        let spelled = Self.root + "/aliases/default"
        let before = world.keychain.boxes.count
        let (unlocked, prompt) = try await other.unlock([spelled])
        #expect(unlocked.isEmpty && prompt != "/")
        let end = try await other.show(prompt)
        #expect(!end.isDismissed && end.result.paths == [spelled])
        #expect(world.keychain.boxes.count == before + 1)
        #expect(world.keychain.boxes.last?.contains("Unlock the collection 'Login'.") == true)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
    }

    @Test("what is unlocked is unlocked without a prompt, each as spelled and once, and nothing is nothing")
    func unlocked() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        let alias = Self.root + "/aliases/default"
        let (paths, prompt) = try await client.unlock([
            alias, item, Self.login, item, Self.login + "/none", "/x",
        ])
        #expect(paths == [alias, item, Self.login] && prompt == "/")
        let nothing = try await client.unlock([])
        #expect(nothing.unlocked.isEmpty && nothing.prompt == "/")
    }

    // MARK: Before the first unlock

    @Test("before the first unlock a search promises one item, which stands for what is found then")
    func promised() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        try await world.makeCold()
        let (unlocked, locked) = try await client.search(["user": "a"])
        #expect(unlocked.isEmpty && locked.count == 1)
        let promise = try #require(locked.first)
        #expect(promise != item)
        #expect(
            try await client.property(promise, SecretsPeer.item, "Attributes") == .textPairs(["user": "a"])
        )
        #expect(try await client.property(promise, SecretsPeer.item, "Locked") == .boolean(true))
        #expect(
            await client.fault(promise, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.isLocked
        )
        #expect(try await client.read([promise, item]).isEmpty)
        #expect(try await client.property(Self.login, SecretsPeer.collection, "Locked") == .boolean(true))
        // Another client does not see it, and no path says that there is nothing.
        let other = try await world.client()
        #expect(
            await other.fault(promise, SecretsPeer.item, "GetSecret", [.objectPath(other.session)])
                == SecretsPeer.isLocked
        )
        #expect(
            try await other.property(Self.login, SecretsPeer.collection, "Items")?.paths?.count == 1
        )

        let before = world.keychain.boxes.count
        let prompt = try await client.unlock([promise]).prompt
        let end = try await client.show(prompt)
        #expect(!end.isDismissed && end.result.paths == [promise])
        #expect(world.keychain.boxes.count == before + 1)
        #expect(world.keychain.boxes.last?.contains("the Secret Service, for ") == true)
        #expect(try await client.read([promise]) == [promise: SecretServiceWorld.secret])
        #expect(try await client.read(promise) == SecretServiceWorld.secret)
        #expect(try await client.property(promise, SecretsPeer.item, "Label") == .string("mail"))
        #expect(try await client.search(["user": "a"]).unlocked == [item])
    }

    @Test("a promise that finds nothing ends with nothing, and is not dismissed")
    func brokenPromise() async throws {
        try await world.makeCold()
        let promise = try #require(try await client.search(["user": "nobody"]).locked.first)
        let end = try await client.show(try await client.unlock([promise]).prompt)
        #expect(!end.isDismissed && end.result.paths == [])
        #expect(
            await client.fault(promise, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.noSuchObject
        )
    }

    /// Whether a new item is refused because its collection is locked.
    private func refusesItem() async -> Bool {
        do {
            _ = try await client.create("mail", ["user": "a"])
            return false
        } catch BusError.remote(let name, _) {
            return name == SecretsPeer.isLocked
        } catch {
            return false
        }
    }

    @Test(
        "a locked collection takes no item: libsecret unlocks it and stores again, and a cancelled box is told",
        arguments: [true, false]
    )
    func stored(isCold: Bool) async throws {
        func lock() async throws {
            if isCold { try await world.makeCold() } else { _ = try await client.lock([Self.login]) }
        }
        let tool = "/usr/bin/secret-tool"
        try await lock()
        #expect(await refusesItem())
        let before = world.keychain.boxes.count
        try world.keychain.setCancels(true)
        let cancelled = try await world.run(tool, "store", "--label=x", "user", "a", input: "one")
        #expect(cancelled.status == 1 && world.keychain.boxes.count == before + 1, "\(cancelled.errors)")
        try world.keychain.setCancels(false)
        let stored = try await world.run(tool, "store", "--label=x", "user", "a", input: "two")
        #expect(stored.status == 0 && world.keychain.boxes.count == before + 2, "\(stored.errors)")
        #expect(try await world.run(tool, "lookup", "user", "a").text == "two")
        #expect(try await client.search(["user": "a"]).unlocked.count == 1)
        // Replacing is storing.
        try await lock()
        try world.keychain.setCancels(true)
        #expect(try await world.run(tool, "store", "--label=x", "user", "a", input: "three").status == 1)
        try world.keychain.setCancels(false)
        #expect(try await world.run(tool, "lookup", "user", "a").text == "two")
    }

    @Test("a collection that was locked before the keychain was needs one gesture for both")
    func lockedTwice() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        _ = try await client.lock([Self.login])
        try await world.makeCold()
        let before = world.keychain.boxes.count
        let end = try await client.show(try await client.unlock([item]).prompt)
        #expect(!end.isDismissed && end.result.paths == [item])
        #expect(world.keychain.boxes.count == before + 1)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
    }

    // MARK: Prompts

    @Test(
        "a prompt is its client's alone, shown once, and ends once: dismissed before, while it is shown, cancelled"
    )
    func prompts() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        _ = try await client.lock([Self.login])
        let other = try await world.client()
        let prompting = "org.freedesktop.Secret.Prompt"

        let waiting = try await client.unlock([item]).prompt
        #expect(await other.fault(waiting, prompting, "Prompt", [.string("")]) == SecretsPeer.unknownObject)
        #expect(await other.fault(waiting, prompting, "Dismiss") == SecretsPeer.unknownObject)
        _ = try await client.call(waiting, prompting, "Dismiss")
        let dismissed = try await client.end(of: waiting)
        #expect(dismissed.isDismissed && dismissed.result.paths == [])
        #expect(await client.fault(waiting, prompting, "Prompt", [.string("")]) == SecretsPeer.unknownObject)

        try world.keychain.setCancels(true)
        let cancelled = try await client.unlock([item]).prompt
        #expect(try await client.show(cancelled).isDismissed)
        try world.keychain.setCancels(false)
        #expect(
            await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                == SecretsPeer.isLocked
        )

        let shown = try await client.unlock([item]).prompt
        #expect(try await !client.show(shown).isDismissed)
        #expect(await client.fault(shown, prompting, "Prompt", [.string("")]) == SecretsPeer.unknownObject)
        #expect(client.received("Completed").count == 3)
        #expect(other.received("Completed").isEmpty)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
    }

    @Test("a prompt whose daemon is stopped ends dismissed, and a later call reaches the next daemon")
    func daemonGone() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        _ = try await client.lock([Self.login])
        let prompt = try await client.unlock([Self.login]).prompt
        try await world.endDaemon(by: SIGKILL)
        // The next request starts another daemon, whose keychain is locked: the box is for both.
        let end = try await client.show(prompt)
        #expect(!end.isDismissed)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
    }

    @Test("a client has at most 32 prompts: of 33 calls at once one is refused")
    func promptLimit() async throws {
        _ = try await client.lock([Self.login])
        // At once, since a prompt that nobody shows ends after a minute.
        let client = client
        let faults = await withTaskGroup(of: String?.self) { calls in
            for _ in 0..<33 {
                calls.addTask {
                    await client.fault(Self.root, SecretsPeer.service, "Unlock", [.paths([Self.login])])
                }
            }
            return await calls.reduce(into: [String]()) { faults, fault in fault.map { faults.append($0) } }
        }
        #expect(faults == ["org.freedesktop.DBus.Error.LimitsExceeded"])
    }

    // MARK: The door

    @Test("the door ends with its bus, and at a signal; a second one says whose the name is")
    func ends() async throws {
        let second = try await world.run(SecretServiceWorld.program)
        #expect(second.status == 1)
        #expect(
            second.errors.contains(
                "org.freedesktop.secrets belongs to process \(world.doorProcess) touchstone-secr"
            )
        )
        let owner = try await world.run(SecretServiceWorld.program, "--owner")
        #expect(owner.text == "\(world.doorProcess) touchstone-secr\n")
        let stopped = try await world.stopDoor()
        #expect(stopped?.status == 0)
        #expect(try await world.run(SecretServiceWorld.program, "--owner").text.isEmpty)
    }

    @Test(
        "the door ends when its file is replaced or removed, and not when the file gets a further name",
        arguments: [true, false]
    )
    func upgraded(_ isReplaced: Bool) async throws {
        try await world.stopDoor()
        let copy = world.keychain.home.path + "/door"
        for path in [copy, copy + ".new"] {
            #expect(try await world.run("/bin/cp", SecretServiceWorld.program, path).status == 0)
        }
        try await world.startDoor(copy)
        // As package managers keep the old file for a moment.
        #expect(link(copy, copy + ".kept") == 0 && unlink(copy + ".kept") == 0)
        let owner = "\(world.doorProcess) door\n"
        for _ in 0..<2 { #expect(try await world.run(SecretServiceWorld.program, "--owner").text == owner) }
        #expect((isReplaced ? rename(copy + ".new", copy) : unlink(copy)) == 0)
        let ended = try #require(await world.endOfDoor())
        #expect(ended.status == 0 && ended.errors.contains("replaced or removed"), "\(ended.errors)")
        #expect(try await world.run(SecretServiceWorld.program, "--owner").text.isEmpty)
    }

    @Test("no secret is left in the door's memory after its reply")
    func residue() async throws {
        let (item, _) = try await client.create("mail", ["user": "a"])
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        #expect(try await client.read([item]) == [item: SecretServiceWorld.secret])
        let tool = try await world.run("/usr/bin/secret-tool", "lookup", "user", "a")
        #expect(tool.text == SecretServiceWorld.secret)
        _ = try await client.call(item, SecretsPeer.item, "Delete")
        let memory = try ProcessMemory(world.doorProcess)
        let places = memory.places(of: Array(SecretServiceWorld.secret.utf8))
        #expect(places.isEmpty, "\(places)")
    }

    @Test(
        "a program that names itself a door is refused by the daemon",
        .enabled(if: !SystemModeUser.isHere, "another user's socket: SystemModeTests/SecretServiceTests")
    )
    func forgedDoor() async throws {
        let keychain = KeychainClientProbe(layout: world.keychain.home.layout)
        #expect(keychain.status(representing: getpid()) == .missingEntitlement)
    }
}
