internal import AccountStore

/// A session authenticated by a request's valid access token.
struct AuthenticatedSession: Sendable {
    let session: Session
    let account: Account
    /// Whether the token came in a cookie.
    var isInCookies = false

    /// Whether the user authenticated within this number of seconds.
    func isFresh(within seconds: Int, at now: Timestamp) -> Bool {
        now - session.authTime <= .seconds(seconds)
    }
}

/// The strength of an authentication (OpenID EAP ACR Values 1.0), and its methods (RFC 8176).
enum AuthenticationContext {
    static let password = "pwd"
    static let phishingResistant = "phr"
    static let phishingResistantHardware = "phrh"
}
