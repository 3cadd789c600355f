public import Foundation

#if APPLE_SIDE
    internal import CryptoKit
#else
    internal import Crypto
#endif

extension DeviceKey<KeyPurpose.Sealing> {
    /// Computes an authentication code for a message, after a prompt: HMAC with SHA-256 (RFC 2104).
    ///
    /// Only this key can compute the code. The same message always has the same code, so a verifier that keeps a code can tell
    /// later that the same key was used.
    ///
    /// - Parameters:
    ///   - message: The message, of any length.
    ///   - prompt: The text of the prompt.
    /// - Returns: the code, 32 bytes.
    /// - Throws: ``TouchstoneError``: `unsupported` for a key made by an older version, `deleted`, `invalidated`, `expired` and the errors
    ///   of a prompt.
    public func authenticationCode(
        for message: Data,
        _ prompt: PromptText = .standard
    ) async throws(TouchstoneError) -> Data {
        try checkTime()
        try prompt.check()
        guard let peer else {
            throw .unsupported("the key is of an older version: makeSuccessor")
        }
        let secret = try await link.openingSecret(for: peer, with: self, prompt)
        return secret.withBytes { AuthenticationCode.code(for: message, $0, publicKey, peer) }
    }
}

/// Derives the HMAC key of the codes: static ECDH of the device's key with a public key whose private part was discarded
/// when both were made (NIST SP 800-56A, 6.3), then HKDF with SHA-256 (RFC 5869) over both public keys.
enum AuthenticationCode {
    /// The purpose of the derived key; a TPM has no HMAC keys under rules like these.
    static let purpose = Data("touchstone authentication code".utf8)

    /// Makes the other public key and discards its private key.
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
