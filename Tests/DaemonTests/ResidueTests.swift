import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Residues of the daemon", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct ResidueTests {
    private static let secret = "marker-of-a-secret-9f2c"
    private static let account = "marker-of-an-account-71d0"
    private static let reason = "marker-of-a-reason\n2026-01-01T00:00:00Z error event=\"keybagUnlocked\""

    @Test("logs and files contain no passcode, secret, name or text of an app")
    func noMarkers() async throws {
        let keychain = try await PrivateKeychain.ready(settings: ["log-level = trace"])
        try Self.use(keychain)
        keychain.stop(with: SIGTERM)
        let log = try String(contentsOf: keychain.home.appending("daemon.stderr"))
        #expect(log.contains("event=\"authenticationSucceeded\""))
        #expect(log.contains("event=\"itemAccessed\""))
        var texts = [log]
        for name in ["keybag", "attempts", "device.key", "items.sqlite", "items.sqlite-wal"] {
            let path = keychain.layout.dataDirectory + "/" + name
            if let text = try? String(contentsOf: path) { texts.append(text) }
        }
        #expect(texts.count > 3)
        for text in texts {
            #expect(!text.contains(Self.secret))
            #expect(!text.contains(Self.account))
            #expect(!text.contains("marker-of-a-reason"))
            #expect(!text.contains(PrivateKeychain.passcode))
        }
        // Each event is one line, whatever a client sent.
        for line in log.split(separator: "\n") { #expect(line.hasPrefix("20") && line.contains("Z ")) }
    }

    /// Adds an item, locks, and reads the item with a prompt.
    private static func use(_ keychain: PrivateKeychain) throws {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("test")],
            accessControl: control,
            data: SecretBytes(copying: Array(secret.utf8)),
            prompt: keychain.prompt(reason)
        )
        _ = try keychain.client.add(item)
        try keychain.client.lock()
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.account: .string(account)],
            returns: .data
        )
        let prompts = keychain.prompts
        let found = try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt(reason)))
        #expect(found.count == 1)
        // The passcode that unlocks is the one that the item requires.
        #expect(keychain.prompts == prompts + 1)
    }
}
