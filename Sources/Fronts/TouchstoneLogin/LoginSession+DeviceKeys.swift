public import Foundation
public import Touchstone
internal import WebAuthnModel

/// A server's challenge for the attestation of a new key, valid once.
public struct DeviceKeyChallenge: Sendable {
    /// The challenge for `DeviceKey.create`.
    public let challenge: Data
    /// When it expires.
    public let expires: Date
    let ceremony: String
}

/// Keys of this device that are no credentials, such as one that signs orders: the server keeps their public keys.
extension LoginSession {
    /// A challenge for the attestation of a new key.
    ///
    /// ```swift
    /// let challenge = try await session.deviceKeyChallenge()
    /// let key = try await DeviceSigningKey.create("orders", challenge: challenge.challenge)
    /// try await session.register(key, for: challenge)
    /// ```
    /// - Returns: the challenge.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` if the user did not authenticate just before, the errors of a server.
    public func deviceKeyChallenge() async throws(TouchstoneError) -> DeviceKeyChallenge {
        let begun = try await call("POST", "/v1/device-keys/options", [:], isBound: true)
        let ceremony = try Ceremony(begun, from: client.api)
        guard let challenge = ceremony.publicKey.object?["challenge"]?.bytes else {
            throw .badReply("challenge")
        }
        guard let seconds = begun["expiresAt"]?.integer else { throw .badReply("expiresAt") }
        return DeviceKeyChallenge(
            challenge: Data(challenge),
            expires: Date(timeIntervalSince1970: Double(seconds)),
            ceremony: ceremony.id
        )
    }

    /// Registers a key that was made for a challenge: the server verifies that the TPM attests it for its purpose and its name.
    ///
    /// - Parameters:
    ///   - key: The key, made with the challenge.
    ///   - challenge: The challenge.
    /// - Throws: `TouchstoneError`: `hardwareTooWeak` for a key without an attestation, or one by a TPM that the server does not trust,
    ///   `refused` for an attestation for another challenge, purpose or name, `replayed` for a challenge that was used or has
    ///   expired, `alreadyExists`, `stepUpNeeded`, the errors of a server.
    public func register<Purpose>(
        _ key: DeviceKey<Purpose>,
        for challenge: DeviceKeyChallenge
    ) async throws(TouchstoneError) {
        guard let attestation = key.attestation,
            let statement = try? JSONValue(parsing: Array(attestation.statement))
        else { throw TouchstoneError(.hardwareTooWeak, details: ["the key \(key.name) has no attestation"]) }
        let certificates = try await attestationCertificates()
        _ = try await call(
            "POST",
            "/v1/device-keys",
            [
                "ceremonyId": .string(challenge.ceremony), "purpose": .string(key.purposeName),
                "name": .string(key.name), "attestation": statement,
                "x5c": .array(certificates.map { JSONValue(base64URL: $0) }),
            ],
            isBound: true
        )
    }
}
