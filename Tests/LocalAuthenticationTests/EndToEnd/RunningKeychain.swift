import Foundation
import KeychainClient
import TouchstoneTesting

/// A private keychain in place of the user's.
struct RunningKeychain {
    /// Whether the daemon is built.
    static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: Programs.touchstoned) }

    private let temporary: PrivateKeychain
    private let promptsOfSetUp: Int

    /// Starts a daemon and sets the keychain up; without a bus there is no sensor.
    init(bus: PrivateBus? = nil) async throws {
        temporary = try await PrivateKeychain.ready(
            bus: bus,
            settings: bus.map { ["test.template-directory = \($0.templateDirectory)"] } ?? []
        )
        promptsOfSetUp = temporary.prompts
    }

    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () async throws -> R) async rethrows -> R {
        try await temporary.use(body)
    }

    /// The number of prompts since set-up.
    var prompts: Int { temporary.prompts - promptsOfSetUp }

    /// Makes the user cancel the next prompt.
    func cancelNext() throws { try temporary.tellPerson([.cancels]) }

    /// Makes the user leave the next prompt to a finger.
    func waitForFinger() throws { try temporary.tellPerson([.waits]) }

    /// Stops the daemon.
    func stop() { temporary.stop(with: SIGTERM) }

    /// Locks the keychain, as when the session is locked.
    func lock() throws { try temporary.client.lock() }
}
