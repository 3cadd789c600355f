public import AsyncHTTPClient
internal import Foundation
internal import JWTKit
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import RelyingParty
internal import WebAuthnModel

/// Verifies the access tokens of a Touchstone server that are for this service: JWTs, by the server's published keys.
///
/// A token that was revoked, or whose session ended, stays valid here until it expires; a service that has to know at once
/// introspects tokens instead (RFC 7662).
public final class AccessTokenVerifier: Sendable {
    /// The server: its setting `public-url`.
    public let issuer: String
    /// This service: `resource` in its audience's file.
    public let audience: String
    /// Where clients send requests to, such as `https://shop.example.org`: what proofs of bound tokens name.
    public let origin: String
    private let client: HTTPClient
    private let clock: ServiceClock
    private let keys: KeySet
    private let proofs = SeenProofs()

    /// The clock's difference that is tolerated, in seconds.
    private static let leeway: Int64 = 5

    /// Creates a verifier, which fetches the keys with the first token.
    ///
    /// - Parameters:
    ///   - issuer: the server's address, as in its setting `public-url`.
    ///   - audience: this service's resource indicator, as in its audience's file.
    ///   - origin: scheme, host and port that clients send requests to; nil: those of `audience`, which is then an address.
    ///   - client: for fetching keys.
    public convenience init(
        issuer: String,
        audience: String,
        origin: String? = nil,
        client: HTTPClient = .shared
    ) {
        self.init(issuer: issuer, audience: audience, origin: origin, client: client, clock: ServiceClock())
    }

    init(
        issuer: String,
        audience: String,
        origin: String?,
        client: HTTPClient,
        clock: ServiceClock
    ) {
        self.issuer = issuer
        self.audience = audience
        self.origin = origin ?? Self.origin(of: audience)
        self.client = client
        self.clock = clock
        keys = KeySet(clock)
    }

    private static func origin(of address: String) -> String {
        guard let parts = URLComponents(string: address), let scheme = parts.scheme, let host = parts.host
        else {
            return address
        }
        return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
    }

    /// A request with a token.
    public struct Request: Sendable {
        /// The method.
        public var method: String
        /// The path, without the query.
        public var path: String
        /// The field `Authorization`.
        public var authorization: String?
        /// The fields `DPoP`.
        public var proofs: [String]

        /// Creates a request.
        public init(method: String, path: String, authorization: String?, proofs: [String] = []) {
            self.method = method
            self.path = path
            self.authorization = authorization
            self.proofs = proofs
        }
    }

    /// Verifies the token of a request, with its proof if it is bound to a key, and that it is enough.
    ///
    /// - Throws: ``AccessTokenError``.
    public func verify(
        _ request: Request,
        _ demand: AccessTokenDemand = AccessTokenDemand()
    ) async throws(AccessTokenError) -> AccessToken {
        let parts = (request.authorization ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2, ["bearer", "dpop"].contains(parts[0].lowercased()) else { throw .missing }
        let text = parts[1]
        let now = clock.wallTime()
        let token = try await verify(text, now: now)
        // A bound token is of no use without its key, and one that is not bound is not presented as one (RFC 9449, section 7.2).
        guard (token.keyThumbprint != nil) == (parts[0].lowercased() == "dpop") else {
            throw .invalidToken("presented as another type")
        }
        if let thumbprint = token.keyThumbprint {
            guard request.proofs.count == 1 else { throw .invalidProof("one is needed") }
            try requireProof(request.proofs[0], of: thumbprint, text, request, now)
        }
        try token.require(demand, at: now)
        return token
    }

    private func verify(_ text: String, now: Int64) async throws(AccessTokenError) -> AccessToken {
        guard text.utf8.count <= SignedAccessToken.mostBytes, let named = SignedAccessToken(text) else {
            throw .invalidToken("no JWT access token with ES256")
        }
        guard let key = try await keys.key(Base64URL.encode(named.keyID), fetching: fetch) else {
            throw .invalidToken("of an unknown key")
        }
        let token: AccessToken
        do { token = try await key.verify(text, as: AccessToken.self) } catch {
            throw .invalidToken("\(error)")
        }
        guard token.issuer == issuer else { throw .invalidToken("of another server") }
        guard token.audience.contains(audience) else { throw .invalidToken("for another service") }
        guard now < token.expiresAt + Self.leeway else { throw .invalidToken("expired") }
        return token
    }

    private func requireProof(
        _ text: String,
        of thumbprint: String,
        _ token: String,
        _ request: Request,
        _ now: Int64
    ) throws(AccessTokenError) {
        let proof: DPoPProof
        do throws(DPoPProof.Refusal) {
            proof = try DPoPProof(
                verifying: text,
                for: DPoPProof.Request(
                    method: request.method,
                    url: origin + request.path,
                    now: now,
                    accessToken: token
                )
            )
        } catch {
            throw .invalidProof(error.rawValue)
        }
        guard proof.keyThumbprint == thumbprint else { throw .invalidProof("of another key") }
        switch proofs.take(proof.jtiDigest, until: proof.issuedAt + 60, now: now) {
        case .new: break
        case .seen: throw .invalidProof("replayed")
        case .full: throw .unavailable("too many requests with proofs in a minute")
        }
    }

    // MARK: Keys

    /// The address of the keys is in the server's metadata (RFC 8414).
    private func fetch() async throws(AccessTokenError) -> [String: JWTKeyCollection] {
        struct Metadata: Decodable {
            let issuer: String
            let jwks_uri: String
        }
        let metadata = try await get(issuer + "/.well-known/oauth-authorization-server", as: Metadata.self)
        guard metadata.issuer == issuer else {
            throw .unavailable("\(issuer) says that it is \(metadata.issuer)")
        }
        let set = try await get(metadata.jwks_uri, as: JWKS.self)
        var keys: [String: JWTKeyCollection] = [:]
        // Keys of other kinds are for others.
        for key in set.keys where key.keyType == .ecdsa && key.curve == .ecdsa(.p256) {
            guard let name = key.keyIdentifier?.string else { continue }
            // One key each: a collection would try its first key for a name that it does not have.
            keys[name] = try? await JWTKeyCollection().add(jwk: key)
        }
        return keys
    }

    private func get<Content: Decodable>(_ address: String, as: Content.Type) async throws(AccessTokenError)
        -> Content
    {
        do {
            let response = try await client.execute(HTTPClientRequest(url: address), timeout: .seconds(10))
            guard response.status == .ok else {
                throw AccessTokenError.unavailable("\(response.status.code)")
            }
            let body = try await response.body.collect(upTo: 1 << 20)
            return try JSONDecoder().decode(Content.self, from: body)
        } catch {
            throw .unavailable("\(address): \(error)")
        }
    }
}
