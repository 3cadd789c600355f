/// When and how the user last authenticated at a prompt of this program (``Keychain/lastAuthentication(using:)``).
///
/// It proves nothing and releases nothing: a secret or a key that takes a prompt takes one all the same.
public struct LastAuthentication: Sendable, Hashable {
    /// How the user authenticated; ``AuthenticationMethod/unspecified`` for a finger and the passcode at one prompt.
    public let method: AuthenticationMethod
    /// When, by the clock that nobody can set and that goes on while the machine sleeps.
    public let time: ContinuousClock.Instant

    init(method: AuthenticationMethod, time: ContinuousClock.Instant) {
        self.method = method
        self.time = time
    }
}
