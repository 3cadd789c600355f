import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@testable import Touchstone

/// This platform's parts of a test's keychain.
extension World {
    // Differences between the platforms; docs/ARCHITECTURE.md, "Two sides", has the reasons.

    /// Whether it is reported which factor of a union was used.
    static let tellsWhichOfUnion = true
    /// Whether the sensor's name and the number of enrolled fingers are reported.
    static let tellsOfSensor = true
    /// Whether events of the keychain outside this process are reported.
    static let tellsOfOthers = true
    /// Whether misses are reported.
    static let tellsMisses = true
    /// Whether the time of a past authentication is reported.
    static let tellsLastAuthentication = true
    /// Whether a prompt names several fallbacks.
    static let namesFallbacks = true
    /// The error code for too many prompts.
    static let codeOfThrottling = TouchstoneError.Code.throttled
    /// The error code without fprintd or without the daemon.
    static let codeWithoutService = TouchstoneError.Code.serviceMissing

    /// Not needed: the daemon's connection keeps the listeners.
    struct Listeners {}

    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () async throws -> R) async rethrows -> R { try await keychain.use(body) }

    /// The same keychain as an explicit value.
    var named: Keychain { Keychain(keychain.client, promptsAt: keychain.prompt().origin) }

    /// Uses a store as another program would, over a separate connection.
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
    /// Waits until the daemon reports changes, so that none is missed.
    func waitUntilHeard() async throws {
        try await Deadline.wait(for: "the daemon") { ChangeWatch.of(keychain.client).isHeard ? true : nil }
    }
}
