internal import CBOR
internal import Glibc
package import KeychainClient
package import KeychainModel
internal import WebAuthnModel

/// The device's session key, which signs DPoP proofs (RFC 9449), so that a refresh token cannot be used
/// elsewhere.
///
/// Using it needs no prompt while the keychain is unlocked; it cannot leave the device.
public struct ProofKey: Sendable {
    private let keychain: RemoteKeychain
    private let representation: [UInt8]
    private let publicKey: [UInt8]

    /// Makes a key.
    ///
    /// - Throws: ``DeviceError/keychain(_:)``.
    public init(reason: String) throws(DeviceError) { try self.init(keychain: .shared, reason: reason) }

    /// Makes a key in a keychain other than the user's.
    package init(keychain: RemoteKeychain, reason: String) throws(DeviceError) {
        try self.init(keychain: keychain, asking: DeviceAuthenticator.prompt(reason))
    }

    /// Makes a key; `prompt` is used if the keychain is locked.
    package init(
        keychain: RemoteKeychain,
        asking prompt: PromptFields,
        cancellation: Cancellation? = nil
    ) throws(DeviceError) {
        do throws(KeychainError) {
            let control = AccessControl(accessibility: .whenUnlockedThisDeviceOnly)
            let key = try keychain.makeKey(
                MakeKey(accessControl: control, prompt: prompt),
                cancellation: cancellation
            )
            self.keychain = keychain
            representation = key.representation
            publicKey = key.publicKey
        } catch {
            throw .keychain(error)
        }
    }

    /// The encoded key: CBOR `[1, representation, public key]`; nothing in it is secret.
    public var encoded: [UInt8] {
        CBORValue.array([.unsigned(1), .bytes(representation), .bytes(publicKey)]).encoded()
    }

    /// Parses an ``encoded`` key.
    ///
    /// - Throws: ``DeviceError/damaged``.
    public init(parsing bytes: [UInt8]) throws(DeviceError) {
        try self.init(parsing: bytes, keychain: .shared)
    }

    /// Parses an encoded key for a keychain other than the user's.
    package init(parsing bytes: [UInt8], keychain: RemoteKeychain) throws(DeviceError) {
        guard case .array(let parts)? = try? CBORValue(decoding: bytes), parts.count == 3,
            parts[0] == .unsigned(1), case .bytes(let representation) = parts[1],
            case .bytes(let publicKey) = parts[2], publicKey.count == HardwareKey.publicKeyOctetCount
        else { throw .damaged }
        self.keychain = keychain
        self.representation = representation
        self.publicKey = publicKey
    }

    /// Makes a proof for one request (RFC 9449, section 4.2).
    ///
    /// - Parameters:
    ///   - method: the HTTP method, such as `POST`.
    ///   - url: the request's address, without query and fragment.
    ///   - nonce: the server's last `DPoP-Nonce`; nil before the first.
    ///   - accessToken: the access token of the request, whose hash the proof then contains (`ath`); nil: it has none.
    ///   - reason: for the prompt, if the keychain is locked.
    /// - Returns: the value of the header `DPoP`.
    /// - Throws: ``DeviceError/keychain(_:)``.
    public func proof(
        method: String,
        url: String,
        nonce: String?,
        accessToken: String? = nil,
        reason: String
    ) throws(DeviceError) -> String {
        try proof(
            method: method,
            url: url,
            nonce: nonce,
            accessToken: accessToken,
            asking: DeviceAuthenticator.prompt(reason)
        )
    }

    /// Makes a proof; `prompt` is used if the keychain is locked.
    package func proof(
        method: String,
        url: String,
        nonce: String?,
        accessToken: String?,
        asking prompt: PromptFields,
        cancellation: Cancellation? = nil
    ) throws(DeviceError) -> String {
        let header: JSONValue = [
            "typ": "dpop+jwt", "alg": "ES256",
            "jwk": [
                "kty": "EC", "crv": "P-256", "x": JSONValue(base64URL: Array(publicKey[1..<33])),
                "y": JSONValue(base64URL: Array(publicKey[33...])),
            ],
        ]
        let claims = JSONValue(members: [
            "jti": JSONValue(base64URL: DeviceAuthenticator.random(16)), "htm": .string(method),
            "htu": .string(url), "iat": .integer(Int64(time(nil))), "nonce": nonce.map { .string($0) },
            "ath": accessToken.map { JSONValue(base64URL: DeviceAuthenticator.hash(Array($0.utf8))) },
        ])
        let text = [header, claims].map { Base64URL.encode($0.json) }.joined(separator: ".")
        do throws(KeychainError) {
            let request = UseKey(
                representation: representation,
                use: .sign(digest: DeviceAuthenticator.hash(Array(text.utf8))),
                prompt: prompt
            )
            let signature = try keychain.useKey(request, cancellation: cancellation).bytes()
            return "\(text).\(Base64URL.encode(signature))"
        } catch {
            throw .keychain(error)
        }
    }
}
