package import KeychainClient
internal import KeychainModel
public import WebAuthnModel

/// The certification of this chip's attestation key by a server's CA: the client sends the chip's identity, the CA returns a
/// secret that only this chip can decrypt, and the decrypted secret is exchanged for the certificate (TPM 2.0 Part 1,
/// section 24).
public struct AttestationEnrolment: Sendable {
    private let keychain: RemoteKeychain
    private let identity: AttestationIdentity

    /// Reads the chip's identity.
    ///
    /// - Throws: ``DeviceError/keychain(_:)`` with `errSecUnimplemented` without a chip.
    public init() throws(DeviceError) { try self.init(keychain: .shared) }

    /// Reads the identity from a keychain other than the user's.
    package init(keychain: RemoteKeychain) throws(DeviceError) {
        self.keychain = keychain
        do throws(KeychainError) {
            identity = try keychain.attestationIdentity()
        } catch {
            throw .keychain(error)
        }
    }

    /// The body of `POST /v1/attestation/ak`.
    public var request: JSONValue {
        JSONValue(members: [
            "ekCertificates": identity.certificates.isEmpty
                ? nil : .array(identity.certificates.map { JSONValue(base64URL: $0) }),
            "ekPublic": JSONValue(base64URL: identity.endorsementKey),
            "akPublic": JSONValue(base64URL: identity.attestationKey),
        ])
    }

    /// Decrypts the CA's secret with the chip, and quotes the boot state if the server gives a nonce for that.
    ///
    /// - Parameter answer: the server's reply with `credentialBlob` (TPM2B_ID_OBJECT), `encryptedSecret`
    ///   (TPM2B_ENCRYPTED_SECRET) and perhaps `quoteNonce`.
    /// - Returns: the body of `POST /v1/attestation/ak/{id}`.
    /// - Throws: ``DeviceError``; ``DeviceError/keychain(_:)`` with `errSecDecode` for a secret that was
    ///   encrypted for another chip.
    public func activate(_ answer: JSONValue) throws(DeviceError) -> JSONValue {
        let challenge = ActivationChallenge(
            credential: try Self.content(answer, "credentialBlob"),
            encryptedSecret: try Self.content(answer, "encryptedSecret")
        )
        do throws(KeychainError) {
            let secret = try keychain.activate(challenge).bytes()
            let quote = try answer.object?["quoteNonce"]?.bytes.flatMap(keychain.quoteIfAvailable)
            return JSONValue(members: [
                "secret": JSONValue(base64URL: secret),
                "quote": quote.map { JSONValue(base64URL: $0.statement) },
                "quoteSignature": quote.map { JSONValue(base64URL: $0.signature) },
            ])
        } catch {
            throw .keychain(error)
        }
    }

    /// The content of a TPM2B, after its size of two bytes.
    private static func content(_ answer: JSONValue, _ name: String) throws(DeviceError) -> [UInt8] {
        guard let bytes = answer.object?[name]?.bytes, bytes.count >= 2,
            bytes.count == 2 + (Int(bytes[0]) << 8 | Int(bytes[1]))
        else { throw .options(name) }
        return Array(bytes.dropFirst(2))
    }

    /// Extracts the certificates from the server's last reply, for
    /// ``DeviceAuthenticator/register(_:verification:held:certificates:reason:)``.
    ///
    /// - Throws: ``DeviceError/options(_:)``.
    public static func certificates(_ answer: JSONValue) throws(DeviceError) -> [[UInt8]] {
        guard let values = answer.object?["x5c"]?.array, !values.isEmpty else { throw .options("x5c") }
        let certificates = values.compactMap(\.bytes)
        guard certificates.count == values.count else { throw .options("x5c") }
        return certificates
    }
}
