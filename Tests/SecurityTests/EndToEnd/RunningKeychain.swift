import Glibc
import TouchstoneTesting

/// A keychain of its own that stands in for the user's.
final class RunningKeychain: Sendable {
    /// Whether the daemon was built.
    static var isBuilt: Bool { access(Programs.touchstoned, X_OK) == 0 }

    private let temporary: PrivateKeychain
    private let promptsOfSetUp: Int

    /// Starts a daemon and sets the keychain up.
    init() async throws {
        temporary = try await PrivateKeychain.ready()
        promptsOfSetUp = temporary.prompts
    }

    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () throws -> R) rethrows -> R {
        try temporary.use(body)
    }

    /// The boxes shown since the set-up.
    var prompts: Int { temporary.prompts - promptsOfSetUp }

    /// Whether the person cancels the boxes to come.
    func setCancels(_ cancels: Bool) throws {
        try temporary.tellPerson(cancels ? Array(repeating: .cancels, count: 100) : [])
    }
}
