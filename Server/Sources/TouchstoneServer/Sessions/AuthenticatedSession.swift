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

    /// All, the weakest first.
    private static let ascending = [password, phishingResistant, phishingResistantHardware]

    /// Whether a class is as strong as another; an unknown one is the weakest.
    static func isAtLeast(_ acr: String, _ other: String) -> Bool { upTo(acr).contains(other) }

    /// The classes that are not stronger than one: which an authentication of that class may replace.
    static func upTo(_ acr: String) -> [String] {
        Array(ascending.prefix((ascending.firstIndex(of: acr) ?? 0) + 1))
    }

    /// The classes that are as strong as one, the strongest first.
    static func atLeast(_ acr: String) -> [String] {
        ascending.filter { isAtLeast($0, acr) }.reversed()
    }
}

extension Credential {
    /// The class of an authentication by it.
    var acr: String {
        isHardwareBound
            ? AuthenticationContext.phishingResistantHardware : AuthenticationContext.phishingResistant
    }
}
