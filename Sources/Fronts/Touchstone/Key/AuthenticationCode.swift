public import Foundation

#if APPLE_SIDE
    internal import CryptoKit
#else
    internal import Crypto
#endif

extension DeviceKey<KeyPurpose.Sealing> {
    /// A code that only this key makes, for a message, after a prompt: HMAC with SHA-256 (RFC 2104).
    ///
    /// The same message has the same code each time, so whoever was given one can tell that the key was used again.
    ///
    /// - Parameters:
    ///   - message: Of any length.
    ///   - prompt: What the prompt says.
    /// - Returns: 32 bytes.
    /// - Throws: ``TouchstoneError``: `unsupported` for a key that an older version made, `invalidated`, `expired` and those of
    ///   a prompt.
    public func authenticationCode(
        for message: Data,
        _ prompt: PromptText = .standard
    ) async throws(TouchstoneError) -> Data {
        try checkTime()
        try prompt.check()
        guard let peer else {
            throw TouchstoneError(.unsupported, details: ["the key is of an older version: makeSuccessor"])
        }
        let secret = try await link.openingSecret(for: peer, with: self, prompt)
        return secret.withBytes { AuthenticationCode.code(for: message, $0, publicKey, peer) }
    }
}

/// The key of the codes: static ECDH of the device's key with a public key whose private part was thrown away when both were
/// made (NIST SP 800-56A, 6.3), then HKDF with SHA-256 (RFC 5869) over both public keys.
enum AuthenticationCode {
    /// Names what the derived key is for; the TPM has no HMAC key under a rule like this one's.
    private static let purpose = Data("touchstone authentication code".utf8)

    /// The other public key.
    static func makePeer() -> Data { P256.KeyAgreement.PrivateKey().publicKey.x963Representation }

    /// The code of a message.
    static func code(
        for message: Data,
        _ secret: UnsafeRawBufferPointer,
        _ own: DevicePublicKey,
        _ peer: DevicePublicKey
    ) -> Data {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            info: purpose + own.x963Representation + peer.x963Representation,
            outputByteCount: 32
        )
        return Data(HMAC<SHA256>.authenticationCode(for: message, using: key))
    }
}
