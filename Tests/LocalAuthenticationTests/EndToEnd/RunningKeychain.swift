import Foundation
import KeychainClient
import TouchstoneTesting

/// A keychain of its own that stands in for the user's.
struct RunningKeychain {
    /// Whether the daemon was built.
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

    /// The boxes shown since the set-up.
    var prompts: Int { temporary.prompts - promptsOfSetUp }

    /// Has the person cancel the next box.
    func cancelNext() throws { try temporary.tellPerson([.cancels]) }

    /// Has the person leave the next box alone, for a finger.
    func waitForFinger() throws { try temporary.tellPerson([.waits]) }

    /// Ends the daemon.
    func stop() { temporary.stop(with: SIGTERM) }

    /// Locks the keychain, as when the session is locked.
    func lock() throws { try temporary.client.lock() }
}
