import Glibc
import TouchstoneTesting

/// A private keychain that takes the place of the user's.
final class RunningKeychain: Sendable {
    /// Whether the daemon was built.
    static var isBuilt: Bool { access(Programs.touchstoned, X_OK) == 0 }

    private let temporary: PrivateKeychain
    private let promptsOfSetUp: Int

    /// Starts a daemon and sets up the keychain.
    init() async throws {
        temporary = try await PrivateKeychain.ready()
        promptsOfSetUp = temporary.prompts
    }

    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () throws -> R) rethrows -> R {
        try temporary.use(body)
    }

    /// The number of prompts since set-up.
    var prompts: Int { temporary.prompts - promptsOfSetUp }

    /// Whether the user cancels the following prompts.
    func setCancels(_ cancels: Bool) throws {
        try temporary.tellPerson(cancels ? Array(repeating: .cancels, count: 100) : [])
    }
}
