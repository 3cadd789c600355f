import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@testable import Touchstone

/// The keychain of a test as this system's side of the module has it.
extension World {
    // What one side can do and the other cannot; docs/ARCHITECTURE.md, "Two sides", has the reasons.

    /// Whether it is told which of a union was shown.
    static let tellsWhichOfUnion = true
    /// Whether a sensor's own name is told, and how many fingers are enrolled.
    static let tellsOfSensor = true
    /// Whether what befalls the keychain beside this process is told.
    static let tellsOfOthers = true
    /// What asking too often comes to.
    static let codeOfThrottling = TouchstoneError.Code.throttled
    /// What asking without fprintd, or without the daemon, comes to.
    static let codeWithoutService = TouchstoneError.Code.serviceMissing

    /// The daemon's connection has them.
    struct Listeners {}

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

extension World {
    /// Waits until the daemon tells of changes, so that none is missed.
    func waitUntilHeard() async throws {
        try await Deadline.wait(for: "the daemon") { ChangeWatch.of(keychain.client).isHeard ? true : nil }
    }
}
