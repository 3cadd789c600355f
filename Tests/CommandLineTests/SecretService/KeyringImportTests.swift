import Foundation
import Glibc
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Taking over from GNOME Keyring: its secrets are copied, and it keeps them.
@Suite(
    "touchstone secrets import",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct KeyringImportTests {
    private let world: SecretServiceWorld
    private let keyring: StartedCommand

    /// Starts GNOME Keyring, unlocked, on the bus on which the door is to be.
    init() async throws {
        world = try await SecretServiceWorld(startsDoor: false)
        keyring = try await world.startKeyring()
    }

    private func store(_ secret: String, _ label: String, _ name: String) async throws {
        let result = try await world.run(
            "/usr/bin/secret-tool",
            "store",
            "--label=\(label)",
            "n",
            name,
            "é",
            "ü",
            input: secret
        )
        try #require(result.status == 0, "\(result.errors)")
    }

    @Test("every secret comes once with label and attributes, a dry run tells them, and nothing is removed")
    func imports() async throws {
        try await store("one", "First", "1")
        try await store("two\n", "Se\tcond", "2")
        let status = try await world.touchstone("secrets", "status")
        #expect(status.text.contains("Served by gnome-keyring-d, process"), "\(status)")

        let dry = try await world.touchstone("secrets", "import", "--dry-run")
        #expect(dry.status == 0 && dry.text.contains("First\tLogin\twould come\n"), "\(dry)")
        #expect(dry.text.contains("Se?cond\tLogin\twould come\n"))
        #expect(dry.errors.contains("2 secrets would come, 0 were here."))
        #expect(try await world.touchstone("secrets", "list").text.isEmpty)

        let first = try await world.touchstone("secrets", "import")
        #expect(first.status == 0 && first.errors.contains("2 secrets came, 0 were here."), "\(first)")
        #expect(first.errors.contains("Nothing was removed from process"))
        let again = try await world.touchstone("secrets", "import")
        #expect(again.errors.contains("0 secrets came, 2 were here."), "\(again)")
        try await store("changed", "First", "1")
        let third = try await world.touchstone("secrets", "import")
        #expect(third.errors.contains("0 secrets came, 1 were here, 1 differ and were left."), "\(third)")
        #expect(third.text.contains("First\tis here with another secret"))
        #expect(try await world.run("/usr/bin/secret-tool", "lookup", "n", "1").text == "changed")

        // From here they are found as there.
        kill(keyring.processID, SIGTERM)
        _ = await keyring.result()
        try await world.startDoor()
        #expect(try await world.run("/usr/bin/secret-tool", "lookup", "n", "1", "é", "ü").text == "one")
        #expect(try await world.run("/usr/bin/secret-tool", "lookup", "n", "2").text == "two\n")
        let own = try await world.touchstone("secrets", "import")
        #expect(own.status == 1 && own.errors.contains("is this one"), "\(own)")
    }

    @Test("without a keyring on the bus, or a keychain that is unlocked, an error says what to do")
    func refused() async throws {
        try await world.endDaemon(by: SIGTERM)
        try world.keychain.setCancels(true)
        #expect(try await world.touchstone("secrets", "import").status == 4)
        try world.keychain.setCancels(false)
        kill(keyring.processID, SIGTERM)
        _ = await keyring.result()
        let none = try await world.touchstone("secrets", "import")
        #expect(none.status == 1 && none.errors.contains("there is no keyring on the session bus"), "\(none)")
        #expect(none.errors.contains("hint: "))
    }
}
