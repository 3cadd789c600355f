import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

private let compiler = "/usr/bin/go"
private let packages = "/usr/share/gocode"

/// A program in Go that makes the calls of the library that most programs in Go use, by which `gh` and others keep their tokens.
@Suite(
    "Go's keyring at the Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .enabled(
        if: Programs.isBuilt(compiler)
            && FileManager.default.fileExists(atPath: packages + "/src/github.com/godbus/dbus"),
        "golang-go and golang-dbus-dev are not both installed"
    ),
    .timeLimit(.minutes(10))
)
struct GoClientTests {
    private static let missing = "secret not found in keyring"
    private static let failed = "failed to unlock correct collection '\(SecretServiceWorld.login)'"

    /// Compiles the program; its path.
    private func compile(in world: SecretServiceWorld) async throws -> String {
        let home = world.keychain.home
        try GoClient.source.write(toFile: home.path + "/client.go", atomically: true, encoding: .utf8)
        var run = CommandRun("build", "-o", home.path + "/client", home.path + "/client.go", home: home)
        run.program = compiler
        run.environment = [
            "HOME": home.path, "GOCACHE": home.path + "/go-cache", "GOPATH": packages, "GO111MODULE": "off",
            "GOTMPDIR": home.path,
        ]
        let result = try await run.run()
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
        return home.path + "/client"
    }

    /// Runs the program; a line for each deed.
    private func does(_ deeds: String..., by program: String, in world: SecretServiceWorld) async throws
        -> [String]
    {
        let result = try await world.run(program, all: deeds)
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
        return result.text.split(separator: "\n").map(String.init)
    }

    // MARK: Beside GNOME Keyring

    private static let deeds = [
        "set svc bob one", "get svc bob", "get svc nobody", "set svc bob two", "get svc bob", "set svc al x",
        "set other bob y", "get svc al", "delete svc nobody", "delete svc bob", "get svc bob",
        "delete-all svc", "get svc al", "get other bob", "delete-all none",
    ]

    /// What the deeds give, and then what is there; at last in a locked collection that nobody unlocks.
    private func outcomes(in world: SecretServiceWorld, by program: String) async throws
        -> [(name: String, outcome: String)]
    {
        var run = CommandRun(arguments: Self.deeds, home: world.keychain.home)
        run.program = program
        run.environment = world.variables
        let result = try await run.run()
        var outcomes = zip(Self.deeds, result.text.split(separator: "\n")).map { ($0, String($1)) }
        let client = try await world.client()
        let (unlocked, locked) = try await client.search(["service": "other"])
        for path in unlocked + locked {
            let label = try await client.property(path, SecretsPeer.item, "Label")?.text ?? ""
            let attributes =
                try await client.property(path, SecretsPeer.item, "Attributes")?.textPairs ?? [:]
            outcomes.append(
                ("what is left", label + " \(attributes.filter { $0.key != "xdg:schema" }.sorted(by: <))")
            )
        }
        try world.keychain.setCancels(true)
        #expect(try await client.lock([SecretServiceWorld.login]) == [SecretServiceWorld.login])
        // After a third cancelled box in a row the door would show none for a minute.
        for deed in ["get other bob", "set other bob z"] {
            let line = try await does(deed, by: program, in: world)
            outcomes.append(("locked: " + deed, line.joined()))
        }
        return outcomes
    }

    @Test(
        "set, get, replace, delete and delete all, and in a locked collection nothing, as with GNOME Keyring",
        .enabled(
            if: Programs.isBuilt("/usr/bin/gnome-keyring-daemon"),
            "gnome-keyring is not installed"
        )
    )
    func same() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        let ours = try await outcomes(in: world, by: program)
        let theirs = try await SecretServiceWorld.beside { try await outcomes(in: $0, by: program) }
        for (ours, theirs) in zip(ours, theirs) where ours != theirs {
            print("differs: \(ours.name): GNOME Keyring \(theirs.outcome), Touchstone \(ours.outcome)")
        }
        #expect(ours.map(\.name) == theirs.map(\.name) && ours.map(\.outcome) == theirs.map(\.outcome))
        let (missing, failed) = (Self.missing, Self.failed)
        #expect(
            ours.map(\.outcome) == [
                "done", "one", missing, "done", "two", "done", "done", "x", missing, "done", missing, "done",
                missing, "y", "done",
                #"Password for 'bob' on 'other' [(key: "service", value: "other"), (key: "username", value: "bob")]"#,
                failed, failed,
            ]
        )

        // Who gives the passcode gets what was there.
        try world.keychain.setCancels(false)
        let before = world.keychain.boxes.count
        #expect(try await does("get other bob", by: program, in: world) == ["y"])
        #expect(world.keychain.boxes.count == before + 1)
    }

    // MARK: Before the first unlock

    @Test(
        "before the first unlock each of its deeds asks once; cancelled it fails and changes nothing"
    )
    func cold() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        let (missing, failed) = (Self.missing, Self.failed)
        #expect(
            try await does("set svc bob one", "set svc al x", by: program, in: world) == ["done", "done"]
        )
        for (deed, outcome) in [
            ("get svc bob", "one"), ("get svc nobody", missing), ("set svc bob two", "done"),
            ("get svc bob", "two"), ("delete svc nobody", missing), ("delete svc bob", "done"),
            ("get svc bob", missing), ("delete-all svc", "done"), ("get svc al", missing),
            ("set svc bob three", "done"),
        ] {
            try await world.makeCold()
            let before = world.keychain.boxes.count
            #expect(try await does(deed, by: program, in: world) == [outcome], "\(deed)")
            #expect(world.keychain.boxes.count == before + 1, "\(deed)")
        }
        let box = try #require(world.keychain.boxes.last)
        #expect(box.contains("Requested by the Secret Service, for \(program) (process"), "\(box)")

        try world.keychain.setCancels(true)
        for deed in ["get svc bob", "set svc bob four", "delete svc bob", "delete-all svc"] {
            try await world.makeCold()
            let before = world.keychain.boxes.count
            #expect(try await does(deed, by: program, in: world) == [failed], "\(deed)")
            #expect(world.keychain.boxes.count == before + 1, "\(deed)")
        }
        try world.keychain.setCancels(false)
        #expect(try await does("get svc bob", by: program, in: world) == ["three"])
    }

    @Test(
        "a protected secret is read with a gesture, which it asks for by itself, and replaced without one"
    )
    func protected() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        #expect(try await does("set svc bob one", by: program, in: world) == ["done"])
        let made = try await world.touchstone(
            "protect",
            "--match",
            "service=svc",
            "--require",
            "passcode"
        )
        #expect(
            made.status == 0 && made.errors.contains("1 secret requires passcode now."),
            "\(made.errors)"
        )
        let before = world.keychain.boxes.count
        #expect(try await does("get svc bob", by: program, in: world) == ["one"])
        let box = try #require(world.keychain.boxes.last)
        #expect(
            world.keychain.boxes.count == before + 1 && box.contains("Read the secret 'Password for"),
            "\(box)"
        )
        #expect(try await does("set svc bob two", by: program, in: world) == ["done"])
        #expect(world.keychain.boxes.count == before + 1)
        #expect(try await does("get svc bob", by: program, in: world) == ["two"])
        #expect(world.keychain.boxes.count == before + 2)

        try world.keychain.setCancels(true)
        let refused = try await does("get svc bob", by: program, in: world)
        #expect(
            refused.count == 1 && refused[0].hasPrefix("failed to unlock correct collection '"),
            "\(refused)"
        )
        #expect(try await does("delete svc bob", by: program, in: world) == ["done"])
    }
}
