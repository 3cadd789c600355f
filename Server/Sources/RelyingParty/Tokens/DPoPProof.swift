internal import Crypto
internal import Foundation
internal import Synchronization
internal import WebAuthnModel

/// A proof that the sender of a request holds a key: DPoP (RFC 9449), with ES256 only.
public struct DPoPProof: Sendable, Equatable {
    /// The key's thumbprint (RFC 7638), 32 bytes, to which a token is bound (`cnf.jkt`).
    public let thumbprint: [UInt8]
    /// The proof's unique identifier: the same proof is not accepted twice (section 11.1).
    public let jti: String
    /// When it was created, in seconds since 1970.
    public let issuedAt: Int64
    /// The server's nonce that it contains, if any.
    public let nonce: String?

    /// Why a proof is refused.
    public enum Refusal: String, Error, Sendable, CaseIterable {
        /// It is not a compact JWS with the members of a proof.
        case malformed
        /// It has another type, algorithm or kind of key.
        case unsupported
        /// The signature was not made by its key.
        case invalidSignature
        /// It is for another method or URL.
        case otherRequest
        /// It was created too long ago, or in the future.
        case otherTime
        /// It has no nonce of the server, or an old one: the response carries a new one (`use_dpop_nonce`).
        case otherNonce
        /// It is not for this access token (`ath`).
        case otherToken
    }

    /// The request that a proof must be for.
    public struct Request: Sendable {
        /// The HTTP method.
        public let method: String
        /// The URL as configured in the server, never from the `Host` field.
        public let url: String
        /// The current time, in seconds since 1970.
        public let now: Int64
        /// The tolerance for the proof's time, in seconds.
        public let tolerance: Int64
        /// Whether a nonce is one of the server's; nil: no nonce is required.
        public let acceptsNonce: (@Sendable (String) -> Bool)?
        /// The access token of the request, if any.
        public let accessToken: String?

        /// Creates a request.
        public init(
            method: String,
            url: String,
            now: Int64,
            tolerance: Int64 = 60,
            acceptsNonce: (@Sendable (String) -> Bool)? = nil,
            accessToken: String? = nil
        ) {
            self.method = method
            self.url = url
            self.now = now
            self.tolerance = tolerance
            self.acceptsNonce = acceptsNonce
            self.accessToken = accessToken
        }
    }

    /// The maximum size of a proof, in bytes.
    private static let mostBytes = 4096

    /// Verifies a proof: RFC 9449, section 4.3.
    ///
    /// The store has to check that its `jti` is new.
    public init(verifying jwt: String, for request: Request) throws(Refusal) {
        guard let jws = CompactJWS(jwt, mostBytes: Self.mostBytes) else { throw .malformed }
        let (header, payload) = (jws.header, jws.payload)
        guard header["typ"]?.string == "dpop+jwt", header["alg"]?.string == "ES256", header["crit"] == nil
        else {
            throw .unsupported
        }
        guard let jwk = header["jwk"]?.object else { throw .malformed }
        // A client that sends a private key has made a mistake, and the key is no longer secret.
        guard jwk["kty"]?.string == "EC", jwk["crv"]?.string == "P-256", jwk["d"] == nil else {
            throw .unsupported
        }
        guard let x = jwk["x"]?.bytes, x.count == 32, let y = jwk["y"]?.bytes, y.count == 32 else {
            throw .malformed
        }
        guard let key = TokenKey(rawRepresentation: x + y), jws.isSigned(by: key.key) else {
            throw .invalidSignature
        }
        guard let jti = payload["jti"]?.string, (1...256).contains(jti.utf8.count),
            let method = payload["htm"]?.string, let url = payload["htu"]?.string,
            let issuedAt = payload["iat"]?.integer
        else { throw .malformed }
        guard method == request.method, Self.withoutQuery(url) == Self.withoutQuery(request.url) else {
            throw .otherRequest
        }
        let times = (request.now - request.tolerance)...(request.now + request.tolerance)
        guard times.contains(issuedAt) else { throw .otherTime }
        let nonce = payload["nonce"]?.string
        if let accepts = request.acceptsNonce {
            guard let nonce, accepts(nonce) else { throw .otherNonce }
        }
        if let token = request.accessToken {
            guard payload["ath"]?.bytes == Array(SHA256.hash(data: Array(token.utf8))) else {
                throw .otherToken
            }
        }
        thumbprint = key.thumbprint
        self.jti = jti
        self.issuedAt = issuedAt
        self.nonce = nonce
    }

    /// Section 4.3, item 9: compared without query and fragment.
    private static func withoutQuery(_ url: String) -> Substring { url.prefix { $0 != "?" && $0 != "#" } }

    /// ``thumbprint`` as tokens contain it.
    public var keyThumbprint: String { Base64URL.encode(thumbprint) }

    /// The store's key for ``jti`` for as long as a proof is valid.
    public var jtiDigest: [UInt8] { Array(SHA256.hash(data: thumbprint + Array(jti.utf8))) }
}

/// Nonces for proofs (RFC 9449, section 8) that need no storage: an interval number, and an HMAC over it.
///
/// All servers of one relying party share the key, so that each accepts the others' nonces.
public final class DPoPNonces: Sendable {
    /// How long one nonce is issued; it is accepted for one interval more.
    public static let interval: Int64 = 300

    private let key: SymmetricKey
    /// The nonce issued now, with every response.
    private let current = Mutex((interval: Int64.min, nonce: ""))

    /// Creates nonces with a key of 32 random bytes.
    public init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

    /// The nonce to issue at a time, in seconds since 1970.
    public func nonce(at now: Int64) -> String {
        let interval = now / Self.interval
        return current.withLock { current in
            if current.interval != interval { current = (interval, nonce(inInterval: interval)) }
            return current.nonce
        }
    }

    /// Whether a nonce was issued in this interval or the previous one.
    public func accepts(_ nonce: String, at now: Int64) -> Bool {
        let interval = now / Self.interval
        return nonce == self.nonce(inInterval: interval) || nonce == self.nonce(inInterval: interval - 1)
    }

    private func nonce(inInterval number: Int64) -> String {
        var input = Array("touchstone dpop nonce".utf8)
        withUnsafeBytes(of: number.bigEndian) { input.append(contentsOf: $0) }
        return Base64URL.encode(HMAC<SHA256>.authenticationCode(for: input, using: key).prefix(16).map { $0 })
    }
}
