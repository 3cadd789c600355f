/// What an access token opens at a resource server (RFC 8707).
public struct AudienceGrant: Sendable, Equatable {
    /// The resource server: an absolute URI.
    public let audience: String
    /// What the token may do there (RFC 6749, section 3.3), in the order in which it was granted; empty: the audience has no
    /// scopes.
    public let scope: [String]

    /// Creates a grant.
    public init(audience: String, scope: [String]) {
        self.audience = audience
        self.scope = scope
    }

    /// The scope as clients and services see it: separated by blanks.
    public var scopeText: String { scope.joined(separator: " ") }
}
