internal import AccountStore

/// A session that a request showed a good access token for.
struct AuthenticatedSession: Sendable {
    let session: Session
    let account: Account
    /// Whether the token came in a cookie.
    var isInCookies = false

    /// Whether the user authenticated within so many seconds.
    func isFresh(within seconds: Int, at now: Timestamp) -> Bool {
        now - session.authTime <= .seconds(seconds)
    }
}

/// How strong an authentication is (OpenID EAP ACR Values 1.0), and by what (RFC 8176).
enum AuthenticationContext {
    static let password = "pwd"
    static let phishingResistant = "phr"
    static let phishingResistantHardware = "phrh"
}
