public import Foundation

#if !APPLE_SIDE
    internal import SecretMemory
#endif

/// The proof of one authentication, made only by the keychain: it authorises several reads of stores without another prompt.
///
/// It contains no secret and cannot decrypt anything by itself: the keychain keeps the authentication and releases items for
/// it. A proof ends at ``end()``, when its last reference is released, after 5 minutes, and when the keychain is locked or the
/// enrolled fingers change; a call with an ended proof throws ``TouchstoneError/Code/proofEnded``.
public final class Proof: Sendable {
    /// How long a proof is valid.
    static let lifetime: Duration = .seconds(300)

    /// How the user authenticated.
    public let method: AuthenticationMethod
    /// The authenticators that the app requested.
    public let requested: Authenticators
    /// When the user authenticated.
    public let time: Date
    /// A unique identifier of the proof, for logs.
    public let context: UUID
    /// What the authentication is worth to a server, without a key.
    public let assurance: Assurance

    /// The keychain's context of the authentication.
    let session: PromptSession
    private let shown = ContinuousClock.now
    private let isEnded = Guarded(false)

    init(
        method: AuthenticationMethod,
        requested: Authenticators,
        assurance: Assurance,
        session: PromptSession
    ) {
        self.method = method
        self.requested = requested
        self.assurance = assurance
        self.session = session
        time = Date()
        context = UUID()
    }

    deinit { end() }

    /// Ends the proof: the keychain discards the authentication.
    ///
    /// Further calls do nothing.
    public func end() {
        let isFirst = isEnded.withLock { isEnded in
            defer { isEnded = true }
            return !isEnded
        }
        if isFirst { session.end() }
    }

    /// - Throws: ``TouchstoneError`` with `proofEnded`.
    func checkIsValid() throws(TouchstoneError) {
        if ContinuousClock.now - shown >= Self.lifetime { end() }
        guard !isEnded.withLock(\.self) else { throw TouchstoneError(.proofEnded) }
    }
}
