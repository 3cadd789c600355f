internal import Touchstone
internal import WebAuthnModel

/// The tokens of a session, as the server gave them.
struct Tokens: Sendable {
    let access: String
    /// When the access token expires, by the local clock.
    let expires: ContinuousClock.Instant
    /// Bound to the device's session key, so it cannot be used elsewhere.
    var refresh: String
    /// The authentication context, such as `phrh`.
    let context: String
    /// The account's id: its user handle, in base64url.
    let account: String
    /// Whether the key that signed in should be replaced now, by the server's times and clock.
    let isKeyDue: Bool

    /// How long before its expiry on the server an access token is treated as expired.
    private static let margin: Duration = .seconds(10)

    /// Parses the object *tokens* of the API.
    ///
    /// - Throws: `TouchstoneError`: `badReply` for missing or invalid members, and for tokens that are not bound to a
    ///   key; `replayed` for an access token that was received before.
    init(_ answer: JSONObject, from server: LoginServer) throws(TouchstoneError) {
        guard let access = answer["access_token"]?.string, access.isToken else {
            throw .badReply("access_token")
        }
        guard let refresh = answer["refresh_token"]?.string, refresh.isToken else {
            throw .badReply("refresh_token")
        }
        guard answer["token_type"]?.string?.lowercased() == "bearer" else { throw .badReply("token_type") }
        guard let seconds = answer["expires_in"]?.integer, 1...86_400 ~= seconds else {
            throw .badReply("expires_in")
        }
        guard answer["refresh_bound"]?.bool == true else { throw .badReply("refresh_bound") }
        guard let context = answer["acr"]?.string, context.isToken else { throw .badReply("acr") }
        guard let account = answer["sub"]?.string, Base64URL.decode(account)?.isEmpty == false else {
            throw .badReply("sub")
        }
        try server.checkIsNew(access.utf8, "access_token")
        self.access = access
        self.refresh = refresh
        self.context = context
        self.account = account
        isKeyDue =
            if let start = answer["keyRenewFrom"]?.integer, let now = answer["auth_time"]?.integer {
                start <= now
            } else {
                false
            }
        expires = .now + .seconds(seconds) - Self.margin
    }
}

/// A service that an access token is for, and what it may do there (RFC 8707).
struct Audience: Sendable, Hashable {
    let resource: String
    /// Empty: all that the server's settings allow.
    let scope: [String]

    /// The fields of a request for tokens.
    var fields: [(name: String, value: String)] {
        [("resource", resource)] + (scope.isEmpty ? [] : [("scope", scope.joined(separator: " "))])
    }
}

/// A ceremony that the server started.
struct Ceremony: Sendable {
    let id: String
    let publicKey: JSONValue

    /// Parses `{ceremonyId, publicKey, expiresAt}`.
    ///
    /// - Throws: `TouchstoneError`: `badReply`; `replayed` for a challenge that was received before.
    init(_ answer: JSONObject, from server: LoginServer) throws(TouchstoneError) {
        guard let id = answer["ceremonyId"]?.string, id.isToken else { throw .badReply("ceremonyId") }
        guard let publicKey = answer["publicKey"] else { throw .badReply("publicKey") }
        guard let challenge = publicKey.object?["challenge"]?.bytes, challenge.count >= 16 else {
            throw .badReply("challenge")
        }
        try server.checkIsNew(challenge, "challenge")
        self.id = id
        self.publicKey = publicKey
    }
}
