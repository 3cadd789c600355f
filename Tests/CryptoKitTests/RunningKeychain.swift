import Foundation
import TouchstoneTesting

/// A private keychain in place of the user's.
struct RunningKeychain {
    /// Whether the daemon is built.
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

    /// The number of prompts since set-up.
    var prompts: Int { temporary.prompts - promptsOfSetUp }

    /// Makes the user cancel the next prompt.
    func cancelNext() throws { try temporary.tellPerson([.cancels]) }
}
