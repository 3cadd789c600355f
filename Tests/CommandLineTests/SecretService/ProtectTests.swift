import Foundation
import Glibc
import KeychainModel
import MessageBus
import Testing
import TouchstoneTesting

/// Secrets of other programs behind a gesture: by item and by rule; for the program that asked, and for a short time.
@Suite(
    "touchstone protect",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct ProtectTests {
    private let world: SecretServiceWorld
    private let client: SecretsPeer
    private static let login = SecretServiceWorld.login

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
    }

    private func name(of item: String) -> String { String(item.split(separator: "/").last ?? "") }

    private func isLocked(_ item: String, for client: SecretsPeer) async -> Bool {
        await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
            == SecretsPeer.isLocked
    }

    @Test(
        "a protected secret needs a gesture, which counts for one client, three reads of it, and nothing else"
    )
    func grant() async throws {
        let (item, _) = try await client.create("bank", ["n": "1"])
        let (other, _) = try await client.create("post", ["n": "2"], "other")
        let protected = try await world.touchstone(
            "protect",
            String(name(of: item).prefix(8)),
            "--require",
            "passcode"
        )
        #expect(
            protected.status == 0 && protected.errors.contains("1 secret requires passcode now."),
            "\(protected.errors)"
        )
        try await Deadline.wait(for: "the report of the change") {
            try await client.property(item, SecretsPeer.item, "Locked") == .boolean(true) ? true : nil
        }
        #expect(try await client.property(item, SecretsPeer.item, "Label") == .string("bank"))
        #expect(await isLocked(item, for: client))
        #expect(try await client.read([item, other]) == [other: "other"])
        #expect(try await client.search([:]).locked == [item])

        let second = try await world.client()
        var isSeen = false
        // On a busy machine a try may take longer than the gesture counts.
        for _ in 0..<20 where !isSeen {
            let before = world.keychain.boxes.count
            let end = try await client.show(try await client.unlock([item]).prompt)
            let start = ContinuousClock.now
            #expect(!end.isDismissed && end.result.paths == [item])
            #expect(world.keychain.boxes.count == before + 1)
            // Another client gets nothing from it.
            let isSecondLocked = await isLocked(item, for: second)
            let secondRead = try await second.read([item])
            let secondProperty = try await second.property(item, SecretsPeer.item, "Locked")
            let property = try await client.property(item, SecretsPeer.item, "Locked")
            let prompt = try await client.unlock([item]).prompt
            let reads = [
                try await client.read([item])[item], try await client.read([item])[item],
                try await client.read([item])[item],
            ]
            let isUsedUp = await isLocked(item, for: client)
            guard ContinuousClock.now - start < .seconds(8) else { continue }
            isSeen = true
            #expect(isSecondLocked && secondRead.isEmpty && secondProperty == .boolean(true))
            #expect(property == .boolean(false) && prompt == "/")
            #expect(reads == Array(repeating: SecretServiceWorld.secret, count: 3))
            #expect(isUsedUp)
            #expect(world.keychain.boxes.count == before + 1)
        }
        #expect(isSeen)
        let box = try #require(world.keychain.boxes.last)
        #expect(box.contains("Read the secret 'bank'.") && box.contains("the Secret Service, for "), "\(box)")
        #expect(box.contains("\nStarted by "), "\(box)")

        // A lock of the client ends it before.
        _ = try await client.show(try await client.unlock([item]).prompt)
        #expect(try await client.lock([item]) == [item])
        #expect(await isLocked(item, for: client))
        // So does one of the keychain.
        _ = try await client.show(try await client.unlock([item]).prompt)
        #expect(try await world.touchstone("lock").status == 0)
        #expect(await isLocked(item, for: client))
    }

    @Test("a cancelled gesture releases nothing, and what was cancelled can be asked for again")
    func cancelled() async throws {
        let (item, _) = try await client.create("bank", ["n": "1"])
        #expect(try await world.touchstone("protect", name(of: item)).status == 0)
        try world.keychain.setCancels(true)
        let end = try await client.show(try await client.unlock([item]).prompt)
        #expect(end.isDismissed && end.result.paths == [])
        #expect(await isLocked(item, for: client))
        try world.keychain.setCancels(false)
        #expect(try await !client.show(try await client.unlock([item]).prompt).isDismissed)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
    }

    @Test(
        "a rule is for secrets that are there and for those that come; replacing one keeps it; unprotect ends it"
    )
    func rule() async throws {
        let (item, _) = try await client.create("bank", ["server": "bank.example", "user": "a"])
        let made = try await world.touchstone(
            "protect",
            "--match",
            "server=bank.example",
            "--require",
            "passcode"
        )
        #expect(made.status == 0 && made.errors.contains("So will those that come."), "\(made.errors)")
        #expect(await isLocked(item, for: client))
        let (later, _) = try await client.create("later", ["server": "bank.example", "user": "b"])
        let (free, _) = try await client.create("free", ["server": "other.example"])
        #expect(await isLocked(later, for: client))
        #expect(try await client.read(free) == SecretServiceWorld.secret)
        // Replacing reads nothing, and asks for nothing.
        let before = world.keychain.boxes.count
        let (same, _) = try await client.create(
            "bank 2",
            ["server": "bank.example", "user": "a"],
            "new",
            replaces: true
        )
        #expect(same == item && world.keychain.boxes.count == before)
        #expect(await isLocked(item, for: client))

        let list = try await world.touchstone("secrets", "list")
        #expect(list.text.contains("\tpasscode\tlogin\tbank 2\t"), "\(list.text)")
        let json = try await world.touchstone("secrets", "list", "--json", "--match", "user=b")
        #expect(json.text.contains("bank.example") && !json.text.contains(SecretServiceWorld.secret))

        // Two items of one rule need one gesture.
        let boxes = world.keychain.boxes.count
        let end = try await client.show(try await client.unlock([later, item]).prompt)
        #expect(end.result.paths == [later, item])
        #expect(world.keychain.boxes.count == boxes + 1)
        #expect(try await client.read([item, later]) == [item: "new", later: SecretServiceWorld.secret])

        let ended = try await world.touchstone("unprotect", "--match", "server=bank.example")
        #expect(
            ended.status == 0 && ended.errors.contains("2 secrets require nothing now. The rule is gone."),
            "\(ended.errors)"
        )
        let second = try await world.client()
        #expect(try await second.read([item, later]).count == 2)
        let (last, _) = try await client.create("last", ["server": "bank.example", "user": "c"])
        #expect(try await second.read(last) == SecretServiceWorld.secret)
    }

    @Test("taking the requirement away needs what it required")
    func unprotect() async throws {
        let (item, _) = try await client.create("bank", ["n": "1"])
        #expect(try await world.touchstone("protect", name(of: item), "--require", "passcode").status == 0)
        try world.keychain.setCancels(true)
        #expect(try await world.touchstone("unprotect", name(of: item)).status == 4)
        #expect(await isLocked(item, for: client))
        try world.keychain.setCancels(false)
        let before = world.keychain.boxes.count
        #expect(try await world.touchstone("unprotect", name(of: item)).status == 0)
        #expect(world.keychain.boxes.count == before + 1)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
    }

    @Test("a browser's own key is protected by force alone, and by no rule")
    func programKey() async throws {
        let attributes = ["application": "chrome", "xdg:schema": "chrome_libsecret_os_crypt_password_v2"]
        let (item, _) = try await client.create("Chrome Safe Storage", attributes)
        let refused = try await world.touchstone("protect", name(of: item))
        #expect(refused.status == 1 && refused.errors.contains("--force"), "\(refused.errors)")
        #expect(try await world.touchstone("protect", "--match", "application=chrome").status == 0)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        let (again, _) = try await client.create("Chrome Safe Storage", attributes, "new", replaces: true)
        #expect(try await client.read(again) == "new")
        #expect(try await world.touchstone("protect", name(of: item), "--force").status == 0)
        #expect(await isLocked(item, for: client))
    }

    @Test(
        "wrong uses are refused with what to do",
        arguments: [
            [], ["--match", "x"], ["a", "--match", "n=1"], ["a", "--require", "none"], ["nothere"],
        ]
    )
    func usage(_ arguments: [String]) async throws {
        var run = CommandRun(arguments: ["protect"] + arguments, home: world.keychain.home)
        run.environment = world.variables
        let result = try await run.run()
        #expect(result.status == (arguments == ["nothere"] ? 3 : 64), "\(result.errors)")
        #expect(result.errors.contains("error: ") && result.errors.contains("hint: "), "\(result.errors)")
    }

    @Test("one box is for at most eight secrets, and names each")
    func many() async throws {
        var items: [String] = []
        for index in 0..<9 {
            items.append(try await client.create("s\(index)", ["n": "many", "i": "\(index)"]).item)
        }
        #expect(
            try await world.touchstone("protect", "--match", "n=many", "--require", "passcode").status == 0
        )
        #expect(
            await client.fault(SecretServiceWorld.root, SecretsPeer.service, "Unlock", [.paths(items)])
                == "org.freedesktop.DBus.Error.LimitsExceeded"
        )
        let before = world.keychain.boxes.count
        let some = Array(items.prefix(8))
        let end = try await client.show(try await client.unlock(some).prompt)
        #expect(end.result.paths == some && world.keychain.boxes.count == before + 1)
        let box = try #require(world.keychain.boxes.last)
        for index in 0..<8 { #expect(box.contains("'s\(index)'"), "\(box)") }
        #expect(try await client.read(items).count == 8)

        // Cold, nobody knows which need a gesture: the limit comes after the first box, and releases nothing.
        try await world.endDaemon(by: SIGTERM)
        #expect(try await world.touchstone("status").status == 0)
        let cold = try await client.show(try await client.unlock(items).prompt)
        #expect(cold.isDismissed && cold.result.paths == [])
        #expect(try await client.read(items).isEmpty)
        #expect(try await client.search(["n": "many"]).locked.count == 9)
    }

    @Test(
        "a program without the gesture reads nothing with secret-tool"
    )
    func tool() async throws {
        let (item, _) = try await client.create("bank", ["n": "1"])
        #expect(try await world.touchstone("protect", name(of: item), "--require", "passcode").status == 0)
        try world.keychain.setCancels(true)
        let cancelled = try await world.run("/usr/bin/secret-tool", "lookup", "n", "1")
        #expect(cancelled.status == 1 && cancelled.text.isEmpty)
        try world.keychain.setCancels(false)
        let before = world.keychain.boxes.count
        let found = try await world.run("/usr/bin/secret-tool", "lookup", "n", "1")
        #expect(found.status == 0 && found.text == SecretServiceWorld.secret)
        #expect(world.keychain.boxes.count == before + 1)
        #expect(world.keychain.boxes.last?.contains("for /usr/bin/secret-tool (process") == true)
        // Killing the door gives nobody anything, and the next one serves.
        try await world.stopDoor(with: SIGKILL)
        try await world.startDoor()
        let later = try await world.client()
        #expect(await isLocked(item, for: later))
    }
}
