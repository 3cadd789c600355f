import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Replayed sessions", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct ReplayTests {
    // Catches a session whose bytes do not depend on the connection, and an authentication that counts for a
    // repeated request.
    @Test("a recorded session is useless on another connection, whole or in part")
    func guardedItem() async throws {
        let keychain = try await PrivateKeychain.ready()
        func client() throws -> TestClient {
            try TestClient(UnixSocket.connect(to: keychain.layout.socket))
        }
        let owner = try await TestClient.greeted(at: keychain.layout.socket)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("guarded")],
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode),
            data: SecretBytes(copying: Array("the guarded secret".utf8)),
            prompt: keychain.prompt()
        )
        #expect(try await owner.call(.addItem, item).status == .success)
        let query = ItemQuery.passwords(attributes: [.account: .string("guarded")])
        let look = CopyItems(query: query, prompt: keychain.prompt())
        let read = try await owner.call(.copyItems, look)
        #expect(read.status == .success)
        let boxes = keychain.prompts
        let session = await owner.sent

        let thief = try client()
        _ = try await thief.greeting()
        for listener in [thief, owner] {
            try? await listener.write(session)
            do {
                while true { #expect(try await listener.reply().status != .success) }
            } catch TestFailure.closed {}
        }
        #expect(keychain.prompts == boxes)

        // The same request on an authenticated connection needs its own prompt.
        let other = try await TestClient.greeted(at: keychain.layout.socket)
        let again = try await other.call(.copyItems, look)
        #expect(again.status == .success && again.body == read.body)
        #expect(keychain.prompts == boxes + 1)
    }
}
