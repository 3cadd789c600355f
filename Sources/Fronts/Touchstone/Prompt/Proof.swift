public import Foundation

#if !APPLE_SIDE
    internal import SecretMemory
#endif

/// Evidence of one prompt, made by the keychain alone: several reads of stores can go ahead on it.
///
/// It holds no secret and opens nothing by itself: what it was shown for is known to the keychain, which releases items for it.
/// It ends at ``end()``, with its last reference, after 5 minutes, and when the keychain is locked or the enrolled fingers
/// change; what it is used for then throws ``TouchstoneError/Code/proofEnded``.
public final class Proof: Sendable {
    /// How long a proof counts.
    static let lifetime: Duration = .seconds(300)

    /// What was shown.
    public let method: AuthenticationMethod
    /// What was asked for.
    public let requested: Authenticators
    /// When it was shown.
    public let time: Date
    /// A number of this proof's own, for logs.
    public let context: UUID
    /// What the prompt is worth to a server, without any key.
    public let assurance: Assurance

    /// Where the keychain knows what was shown.
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

    /// Ends it: the keychain forgets what was shown.
    ///
    /// Does nothing the second time.
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
