public import JWTKit
internal import RelyingParty

/// A verified access token (RFC 9068, section 2.2).
public struct AccessToken: Sendable, Equatable, JWTPayload {
    /// The server that issued it: its setting `public-url`.
    public let issuer: String
    /// The account's identifier, as in introspections; names of accounts can change.
    public let subject: String
    /// The resource servers that it is for.
    public let audience: [String]
    /// When it expires, in seconds since 1970.
    public let expiresAt: Int64
    /// Its identifier.
    public let identifier: String
    /// The session's identifier.
    public let session: String?
    /// What it may do.
    public let scope: [String]
    /// The class of the authentication: `pwd`, `phr` (a passkey) or `phrh` (a passkey or a device's key in hardware).
    public let authenticationClass: String
    /// The methods of the authentication (RFC 8176).
    public let authenticationMethods: [String]
    /// When the user authenticated, in seconds since 1970.
    public let authenticatedAt: Int64
    /// The thumbprint of the key that it is bound to (RFC 9449, section 6.1); nil: whoever has it can use it.
    public let keyThumbprint: String?

    private struct Confirmation: Codable { let jkt: String }

    private enum Name: String, CodingKey {
        case iss, sub, aud, exp, jti, sid, scope, acr, amr, cnf
        case authTime = "auth_time"
    }

    /// Reads the claims of a token.
    public init(from decoder: any Decoder) throws {
        let claims = try decoder.container(keyedBy: Name.self)
        issuer = try claims.decode(String.self, forKey: .iss)
        subject = try claims.decode(String.self, forKey: .sub)
        // One, or several (RFC 7519, section 4.1.3).
        if let one = try? claims.decode(String.self, forKey: .aud) {
            audience = [one]
        } else {
            audience = try claims.decode([String].self, forKey: .aud)
        }
        expiresAt = try claims.decode(Int64.self, forKey: .exp)
        identifier = try claims.decode(String.self, forKey: .jti)
        session = try claims.decodeIfPresent(String.self, forKey: .sid)
        let words = try claims.decodeIfPresent(String.self, forKey: .scope) ?? ""
        scope = words.split(separator: " ").map(String.init)
        authenticationClass = try claims.decode(String.self, forKey: .acr)
        authenticationMethods = try claims.decode([String].self, forKey: .amr)
        authenticatedAt = try claims.decode(Int64.self, forKey: .authTime)
        keyThumbprint = try claims.decodeIfPresent(Confirmation.self, forKey: .cnf)?.jkt
    }

    /// Writes the claims.
    public func encode(to encoder: any Encoder) throws {
        var claims = encoder.container(keyedBy: Name.self)
        try claims.encode(issuer, forKey: .iss)
        try claims.encode(subject, forKey: .sub)
        try claims.encode(audience, forKey: .aud)
        try claims.encode(expiresAt, forKey: .exp)
        try claims.encode(identifier, forKey: .jti)
        try claims.encodeIfPresent(session, forKey: .sid)
        if !scope.isEmpty { try claims.encode(scope.joined(separator: " "), forKey: .scope) }
        try claims.encode(authenticationClass, forKey: .acr)
        try claims.encode(authenticationMethods, forKey: .amr)
        try claims.encode(authenticatedAt, forKey: .authTime)
        try claims.encodeIfPresent(keyThumbprint.map(Confirmation.init), forKey: .cnf)
    }

    /// Does nothing: ``AccessTokenVerifier`` judges the claims.
    public func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// What an operation of a service needs of an access token.
public struct AccessTokenDemand: Sendable, Equatable {
    /// The scopes, all of which are needed.
    public var scope: [String]
    /// Classes of authentication, one of which is needed, or a stronger one; empty: any.
    public var authenticationClasses: [String]
    /// The longest time since the authentication; nil: any.
    public var maximumAge: Duration?

    /// Creates a demand.
    ///
    /// - Parameters:
    ///   - scope: the scopes, all of which are needed.
    ///   - authenticationClasses: `pwd`, `phr` or `phrh`, one of which is needed, or a stronger one.
    ///   - maximumAge: the longest time since the authentication.
    public init(scope: [String] = [], authenticationClasses: [String] = [], maximumAge: Duration? = nil) {
        self.scope = scope
        self.authenticationClasses = authenticationClasses
        self.maximumAge = maximumAge
    }
}

extension AccessToken {
    /// Checks that the token is enough for an operation.
    ///
    /// - Throws: ``AccessTokenError/insufficientScope(_:)`` or ``AccessTokenError/insufficientUserAuthentication(_:)``.
    func require(_ demand: AccessTokenDemand, at now: Int64) throws(AccessTokenError) {
        guard demand.scope.allSatisfy(scope.contains) else { throw .insufficientScope(demand.scope) }
        let classes = AuthenticationContext.ascending
        let own = classes.firstIndex(of: authenticationClass).map { classes[...$0] }
        let isStrong =
            demand.authenticationClasses.isEmpty
            || demand.authenticationClasses.contains { (own ?? [authenticationClass]).contains($0) }
        let isFresh = demand.maximumAge.map { .seconds(now - authenticatedAt) <= $0 } ?? true
        guard isStrong, isFresh else { throw .insufficientUserAuthentication(demand) }
    }
}

/// Why a request with an access token is refused.
public enum AccessTokenError: Error, Sendable, Equatable {
    /// There is no token.
    case missing
    /// The token is not valid here: forged, expired, for another audience, or bound to a key and without its proof.
    case invalidToken(String)
    /// The proof of the token's key does not hold (RFC 9449, section 7.1).
    case invalidProof(String)
    /// The token does not have these scopes.
    case insufficientScope([String])
    /// The user has to authenticate again (RFC 9470).
    case insufficientUserAuthentication(AccessTokenDemand)
    /// The server's keys cannot be fetched.
    case unavailable(String)

    /// The status of the response.
    public var status: Int {
        switch self {
        case .missing, .invalidToken, .invalidProof, .insufficientUserAuthentication: 401
        case .insufficientScope: 403
        case .unavailable: 503
        }
    }

    /// The field `WWW-Authenticate` of the response (RFC 6750, section 3; RFC 9449, section 7.1; RFC 9470, section 3).
    public var challenge: String? {
        switch self {
        case .missing: "Bearer, DPoP algs=\"ES256\""
        case .invalidToken: #"Bearer error="invalid_token""#
        case .invalidProof: #"DPoP error="invalid_dpop_proof", algs="ES256""#
        case .insufficientScope(let scope):
            #"Bearer error="insufficient_scope", scope="\#(scope.joined(separator: " "))""#
        case .insufficientUserAuthentication(let demand):
            #"Bearer error="insufficient_user_authentication""#
                + (demand.authenticationClasses.isEmpty
                    ? "" : #", acr_values="\#(demand.authenticationClasses.joined(separator: " "))""#)
                + (demand.maximumAge.map { ", max_age=\($0.components.seconds)" } ?? "")
        case .unavailable: nil
        }
    }
}
