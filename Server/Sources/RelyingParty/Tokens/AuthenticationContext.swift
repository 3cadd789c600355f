/// The strength of an authentication (OpenID EAP ACR Values 1.0), and its methods (RFC 8176).
package enum AuthenticationContext {
    /// No authentication to rely on (OpenID Connect Core 1.0, section 2): a link or a recovery code.
    package static let unauthenticated = "0"
    package static let password = "pwd"
    package static let phishingResistant = "phr"
    package static let phishingResistantHardware = "phrh"

    /// All, the weakest first.
    package static let ascending = [password, phishingResistant, phishingResistantHardware]

    /// Whether a class is as strong as another; an unknown one is the weakest.
    package static func isAtLeast(_ acr: String, _ other: String) -> Bool { upTo(acr).contains(other) }

    /// The classes that are not stronger than one: which an authentication of that class may replace.
    package static func upTo(_ acr: String) -> [String] {
        Array(ascending.prefix((ascending.firstIndex(of: acr) ?? 0) + 1))
    }

    /// The classes that are as strong as one, the strongest first.
    package static func atLeast(_ acr: String) -> [String] {
        ascending.filter { isAtLeast($0, acr) }.reversed()
    }
}
