internal import AccountStore
internal import RelyingParty

/// A session authenticated by a request's valid access token.
struct AuthenticatedSession: Sendable {
    let session: Session
    let account: Account
    /// Whether the token came in a cookie.
    var isInCookies = false
    /// The proof that the request was sent by the holder of the session's key, if the operation needs one.
    var proof: VerifiedProof?

    /// Whether the user authenticated within this number of seconds.
    func isFresh(within seconds: Int, at now: Timestamp) -> Bool {
        now - session.authTime <= .seconds(seconds)
    }
}

extension Credential {
    /// The class of an authentication by it.
    var acr: String {
        isHardwareBound
            ? AuthenticationContext.phishingResistantHardware : AuthenticationContext.phishingResistant
    }
}
