internal import Crypto
internal import Foundation
internal import Synchronization
internal import WebAuthnModel

/// A proof that whoever sends a request holds a key: DPoP (RFC 9449), with ES256 alone.
public struct DPoPProof: Sendable, Equatable {
    /// The key's thumbprint (RFC 7638), 32 bytes: what a token is bound to (`cnf.jkt`).
    public let thumbprint: [UInt8]
    /// The proof's own number: the same proof is not taken twice (section 11.1).
    public let jti: String
    /// When it was made, in seconds since 1970.
    public let issuedAt: Int64
    /// The server's nonce in it, if any.
    public let nonce: String?

    /// Why a proof is refused.
    public enum Refusal: String, Error, Sendable, CaseIterable {
        /// It is no compact JWS with the members that a proof has.
        case malformed
        /// Another type, algorithm or kind of key.
        case unsupported
        /// The signature is not by its key.
        case invalidSignature
        /// It is for another method or address.
        case otherRequest
        /// It was made too long ago, or is of the future.
        case otherTime
        /// It has no nonce of the server's, or an old one: the answer brings a new one (`use_dpop_nonce`).
        case otherNonce
        /// It is not for this access token (`ath`).
        case otherToken
    }

    /// What a request is like.
    public struct Request: Sendable {
        /// The HTTP method.
        public let method: String
        /// The address, as the server is configured: never from the `Host` field.
        public let url: String
        /// Now, in seconds since 1970.
        public let now: Int64
        /// How far the proof's time may be off, in seconds.
        public let tolerance: Int64
        /// Whether a nonce is one of the server's; nil: none is wanted.
        public let acceptsNonce: (@Sendable (String) -> Bool)?
        /// The access token that comes with the request, if any.
        public let accessToken: String?

        /// Describes a request.
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

    /// The longest proof that is read, in bytes.
    private static let mostBytes = 4096

    /// Verifies a proof: RFC 9449, section 4.3.
    ///
    /// That its `jti` is new is the store's to see.
    public init(verifying jwt: String, for request: Request) throws(Refusal) {
        let parts = jwt.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard jwt.utf8.count <= Self.mostBytes, parts.count == 3,
            let header = Self.object(parts[0]), let payload = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2]), signature.count == 64
        else { throw .malformed }
        guard header["typ"]?.string == "dpop+jwt", header["alg"]?.string == "ES256", header["crit"] == nil
        else {
            throw .unsupported
        }
        guard let jwk = header["jwk"]?.object else { throw .malformed }
        // A private key in a proof is a client's mistake, and its end as a secret.
        guard jwk["kty"]?.string == "EC", jwk["crv"]?.string == "P-256", jwk["d"] == nil else {
            throw .unsupported
        }
        guard let x = jwk["x"]?.bytes, x.count == 32, let y = jwk["y"]?.bytes, y.count == 32 else {
            throw .malformed
        }
        guard let key = try? P256.Signing.PublicKey(rawRepresentation: x + y),
            let ecdsa = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(ecdsa, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { throw .invalidSignature }
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
        // RFC 7638: the required members in the order of their names.
        let canonical =
            #"{"crv":"P-256","kty":"EC","x":"\#(Base64URL.encode(x))","y":"\#(Base64URL.encode(y))"}"#
        thumbprint = Array(SHA256.hash(data: Array(canonical.utf8)))
        self.jti = jti
        self.issuedAt = issuedAt
        self.nonce = nonce
    }

    private static func object(_ part: String) -> JSONObject? {
        guard let bytes = Base64URL.decode(part) else { return nil }
        return (try? JSONValue(parsing: bytes))?.object
    }

    /// Section 4.3, item 9: compared without query and fragment.
    private static func withoutQuery(_ url: String) -> Substring { url.prefix { $0 != "?" && $0 != "#" } }

    /// What the store keeps of ``jti`` for as long as a proof is good.
    public var jtiDigest: [UInt8] { Array(SHA256.hash(data: thumbprint + Array(jti.utf8))) }
}

/// Nonces for proofs (RFC 9449, section 8) that need no storage: a count of time, and an HMAC over it.
///
/// All servers of one relying party have the same key, so that each knows the others' nonces.
public final class DPoPNonces: Sendable {
    /// How long one is given out; it is taken for as long again.
    public static let interval: Int64 = 300

    private let key: SymmetricKey
    /// The one that is given out now, with every answer.
    private let current = Mutex((interval: Int64.min, nonce: ""))

    /// Takes the key: 32 random bytes.
    public init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

    /// The nonce to give out at a time, in seconds since 1970.
    public func nonce(at now: Int64) -> String {
        let interval = now / Self.interval
        return current.withLock { current in
            if current.interval != interval { current = (interval, nonce(inInterval: interval)) }
            return current.nonce
        }
    }

    /// Whether a nonce was given out in this interval or the last.
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
