import Foundation
import KeychainClient
import KeychainModel
import ScriptedDaemon
import Testing
import Touchstone
import TouchstoneTesting

@Suite(
    "An app's store in a backup",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .timeLimit(.minutes(10))
)
struct StoreBackupTests {
    /// This program's stores in a keychain of the command.
    private struct App {
        private let terminal: PseudoTerminal
        private let keychain: Keychain

        init(_ real: RealKeychain) throws {
            terminal = try PseudoTerminal()
            let client = RemoteKeychain(layout: real.home.layout, daemon: .none)
            keychain = Keychain(
                client,
                promptsAt: PromptOrigin(terminal: terminal.name, terminalType: "xterm")
            )
        }

        func store(_ name: String, _ rule: AccessRule) -> SecretStore {
            SecretStore(name, rule: rule, in: keychain)
        }

        func names() async throws -> [String] { try await keychain.stores() }
    }

    private static let kept: [(name: String, rule: AccessRule)] = [
        ("diary", .biometryOrPasscode.acceptingLaterEnrolments().acceptingBackups()),
        ("early", .afterFirstUnlock.acceptingBackups()), ("free", .whenUnlocked.acceptingBackups()),
        ("passcode", .passcode.acceptingBackups()),
    ]
    private static let staying: [(name: String, rule: AccessRule)] = [
        ("stays", .passcode), ("stays free", .whenUnlocked), ("stays early", .afterFirstUnlock),
    ]

    @Test(
        "what a rule with backups protects comes back to the same program under the same rule; the rest stays"
    )
    func restored() async throws {
        let old = try await RealKeychain.ready()
        var app = try App(old)
        for (name, rule) in Self.kept + Self.staying {
            try await app.store(name, rule).write("value of \(name)", for: "key")
        }
        let file = old.home.path + "/backup"
        let saved = try await old.run("backup", file)
        #expect(saved.status == 0, "\(saved.errors)")

        let new = try RealKeychain()
        try FileManager.default.copyItem(atPath: old.home.path + "/code", toPath: new.home.path + "/code")
        let restored = try await new.run("backup", "--restore", file)
        #expect(restored.status == 0, "\(restored.errors)")
        app = try App(new)
        #expect(try await app.names() == Self.kept.map(\.name))
        for (name, rule) in Self.kept {
            let store = app.store(name, rule)
            let asks = rule.description.contains("asscode")
            if asks {
                await #expect(throws: TouchstoneError.interactionNeeded, "\(name)") {
                    try await store.read("key", as: String.self, with: .silent)
                }
            }
            let prompts = new.prompts
            #expect(try await store.read("key") == "value of \(name)")
            #expect(new.prompts == prompts + (asks ? 1 : 0), "\(name)")
            await #expect(throws: TouchstoneError.ruleMismatch, "the rule is fixed there too") {
                try await app.store(name, .passcode.reusable(for: .seconds(9))).write("x", for: "other")
            }
            try await store.write("more", for: "other")
        }
        for (name, rule) in Self.staying {
            await #expect(throws: TouchstoneError.notFound, "\(name)") {
                try await app.store(name, rule).read("key", as: String.self)
            }
        }
    }

    @Test("what any enrolled finger opened is opened on the other machine by a finger enrolled there")
    func fingers() async throws {
        let old = try await RealKeychain.ready()
        var app = try App(old)
        let rule = AccessRule.biometry.acceptingLaterEnrolments().acceptingBackups()
        try await app.store("finger", rule).write("text", for: "key")
        try await app.store("passcode", .passcode.acceptingBackups()).write("text", for: "key")
        let file = old.home.path + "/backup"
        #expect(try await old.run("backup", file).status == 0)

        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(
            on: bus,
            .init(sensors: [.init(fingers: ["left-thumb"])])
        )
        let new = try RealKeychain(bus: bus)
        try FileManager.default.copyItem(atPath: old.home.path + "/code", toPath: new.home.path + "/code")
        let restored = try await new.run("backup", "--restore", file)
        #expect(restored.status == 0, "\(restored.errors)")
        app = try App(new)
        // A finger counts on a terminal where the passcode was typed.
        #expect(try await app.store("passcode", .passcode.acceptingBackups()).read("key") == "text")
        try ScriptedPinentry.tell([.waits], home: new.home.path)
        fprintd.change { $0.verifications = [.init([.match])] }
        let prompts = new.prompts
        #expect(try await app.store("finger", rule).read("key") == "text")
        #expect(new.prompts == prompts + 1)
    }

    @Test(
        "a rule that was changed to one with backups puts the store into the next backup, and back takes it out"
    )
    func changed() async throws {
        let old = try await RealKeychain.ready()
        let app = try App(old)
        let (kept, strict) = (
            app.store("notes", .whenUnlocked.acceptingBackups()), app.store("notes", .whenUnlocked)
        )
        func listed() async throws -> Int {
            let file = old.home.path + "/backup"
            #expect(try await old.run("backup", file, "--replace").status == 0)
            return try await old.run("backup", "--list", file).text.split(separator: "\n")
                .count(where: { $0.hasPrefix("key\t") })
        }
        try await strict.write("text", for: "key")
        #expect(try await listed() == 0)
        try await kept.migrate(from: strict)
        #expect(try await listed() == 1)
        try await strict.migrate(from: kept)
        #expect(try await listed() == 0)
        #expect(try await strict.read("key") == "text")
    }
}
