package import KeychainClient
internal import KeychainModel
public import WebAuthnModel

/// How a server's CA comes to certify this chip's attestation key: who the chip is goes there, a secret comes back that only
/// the chip can read, and the secret's plain text is worth the certificate (TPM 2.0 Part 1, section 24).
public struct AttestationEnrolment: Sendable {
    private let keychain: RemoteKeychain
    private let identity: AttestationIdentity

    /// Asks the chip who it is.
    ///
    /// - Throws: ``DeviceError/keychain(_:)`` with `errSecUnimplemented` without a chip.
    public init() throws(DeviceError) { try self.init(keychain: .shared) }

    /// Asks the chip of another keychain than the user's.
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

    /// Has the chip read the secret.
    ///
    /// - Parameter answer: with `credentialBlob` (TPM2B_ID_OBJECT) and `encryptedSecret` (TPM2B_ENCRYPTED_SECRET).
    /// - Returns: the body of `POST /v1/attestation/ak/{id}`.
    /// - Throws: ``DeviceError``; ``DeviceError/keychain(_:)`` with `errSecDecode` for a secret for another chip.
    public func activate(_ answer: JSONValue) throws(DeviceError) -> JSONValue {
        let challenge = ActivationChallenge(
            credential: try Self.content(answer, "credentialBlob"),
            encryptedSecret: try Self.content(answer, "encryptedSecret")
        )
        do throws(KeychainError) {
            let secret = try keychain.activate(challenge).bytes()
            return ["secret": JSONValue(base64URL: secret)]
        } catch {
            throw .keychain(error)
        }
    }

    /// What a TPM2B holds: its size in two bytes comes first.
    private static func content(_ answer: JSONValue, _ name: String) throws(DeviceError) -> [UInt8] {
        guard let bytes = answer.object?[name]?.bytes, bytes.count >= 2,
            bytes.count == 2 + (Int(bytes[0]) << 8 | Int(bytes[1]))
        else { throw .options(name) }
        return Array(bytes.dropFirst(2))
    }

    /// Takes the certificates out of the server's last answer, for
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
