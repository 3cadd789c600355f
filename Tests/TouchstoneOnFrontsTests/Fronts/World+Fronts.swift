import LocalAuthentication
import Testing
import TouchstoneTesting

// The target TouchstoneOnFronts: see the manifest.
@testable import Touchstone

/// The keychain of a test as the side for Apple's systems has it, over this package's own fronts.
extension World {
    // What one side can do and the other cannot; docs/ARCHITECTURE.md, "Two sides", has the reasons.

    /// Whether it is told which of a union was shown.
    static let tellsWhichOfUnion = false
    /// Whether a sensor's own name is told, and how many fingers are enrolled.
    static let tellsOfSensor = false
    /// Whether what befalls the keychain beside this process is told.
    static let tellsOfOthers = false
    /// Whether misses are told.
    static let tellsMisses = false
    /// Whether the time of a past authentication is told.
    static let tellsLastAuthentication = false
    /// Whether a prompt names several fallbacks.
    static let namesFallbacks = false
    /// What asking too often comes to.
    static let codeOfThrottling = TouchstoneError.Code.systemCancelled
    /// What asking without fprintd, or without the daemon, comes to.
    static let codeWithoutService = TouchstoneError.Code.noHardware

    /// Those of one keychain.
    typealias Listeners = ProcessListeners

    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () async throws -> R) async rethrows -> R {
        try await ProcessListeners.$current.withValue(listeners) { try await keychain.use(body) }
    }

    /// What another program does with a store.
    func otherProgram(_ store: SecretStore, _ body: (StoreCalls) throws(TouchstoneError) -> Void) {
        let link = KeychainLink(process: listeners)
        let calls = KeychainCalls(session: link.makeSession(), prompt: .standard)
        let access = StoreAccess(store: store, permission: .standard)
        #expect(throws: Never.self) { try body(StoreCalls(calls: calls, access: access)) }
    }

    /// There is nothing to wait for.
    func waitUntilHeard() async throws {}
}
