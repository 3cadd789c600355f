import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@testable import Touchstone

/// The keychain of a test as this system's side of the module has it.
extension World {
    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () async throws -> R) async rethrows -> R { try await keychain.use(body) }

    /// The same keychain, named.
    var named: Keychain { Keychain(keychain.client, promptsAt: keychain.prompt().origin) }

    /// What another program does with a store, over a connection of its own.
    func otherProgram(_ store: SecretStore, _ body: (StoreCalls) throws(TouchstoneError) -> Void) {
        let client = RemoteKeychain(layout: keychain.layout, daemon: .none)
        let calls = KeychainCalls(
            client: client,
            context: client.makeContextNumber(),
            prompt: keychain.prompt(),
            cancellation: Cancellation()
        )
        let access = StoreAccess(store: store, permission: .standard)
        #expect(throws: Never.self) { try body(StoreCalls(calls: calls, access: access)) }
    }
}
