import Foundation
import TouchstoneTesting

/// A keychain of its own that stands in for the user's.
struct RunningKeychain {
    /// Whether the daemon was built.
    static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: Programs.touchstoned) }

    private let temporary: PrivateKeychain
    private let promptsOfSetUp: Int

    /// Starts a daemon and, unless told otherwise, sets the keychain up.
    init(setUp: Bool = true) async throws {
        if setUp {
            temporary = try await PrivateKeychain.ready()
        } else {
            temporary = try PrivateKeychain()
            try await temporary.start()
        }
        promptsOfSetUp = temporary.prompts
    }

    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () throws -> R) rethrows -> R {
        try temporary.use(body)
    }

    /// The boxes shown since the set-up.
    var prompts: Int { temporary.prompts - promptsOfSetUp }

    /// Has the person cancel the next box.
    func cancelNext() throws { try temporary.tellPerson([.cancels]) }
}
