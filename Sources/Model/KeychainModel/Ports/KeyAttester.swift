public import SecretMemory

/// Attests keys of the hardware to a server that does not know this machine.
///
/// A server first gets the identity, verifies that the attestation key is in the chip of the endorsement key
/// (``activate(_:)``), and from then on trusts what the attestation key signs:
///
///     let identity = try await attester.attestationIdentity()      // sent to the server
///     let secret = try await attester.activate(challenge)    // answers the server's challenge
///     let attestation = try await attester.attest(blob, authorization: authorization, qualifyingData: nonce)
public protocol KeyAttester: Sendable {
    /// The identity that attests keys.
    ///
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if the chip is missing or its endorsement hierarchy is
    ///   disabled.
    func attestationIdentity() async throws(KeychainError) -> AttestationIdentity

    /// Returns the secret of a credential (TPM 2.0 Part 3, `TPM2_ActivateCredential`).
    ///
    /// - Parameter challenge: the server's challenge.
    /// - Returns: the secret, at most 64 bytes.
    /// - Throws: ``KeychainError`` with `errSecDecode` for a credential made for another attestation key or another
    ///   chip, `errSecParam` for one that is too long.
    func activate(_ challenge: ActivationChallenge) async throws(KeychainError) -> SecretBytes

    /// Has the attestation key certify a key (`TPM2_Certify`).
    ///
    /// - Parameters:
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: the key's authorisation.
    ///   - qualifyingData: the data to include in the statement, at most 64 bytes: a digest with the server's nonce.
    /// - Returns: the statement, and all that is needed to verify it.
    /// - Throws: as ``PrivateKeyHardware/sign(digest:with:authorization:)``, and `errSecParam` for qualifying data
    ///   that is too long.
    func attest(
        _ key: [UInt8],
        authorization: borrowing SecretBytes,
        qualifyingData: [UInt8]
    ) async throws(KeychainError) -> Attestation

    /// Has the attestation key sign what the machine was started with (`TPM2_Quote`).
    ///
    /// - Parameter nonce: the server's nonce, at most ``BootQuote/mostNonce`` bytes.
    /// - Returns: the quote, which is whole.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if the chip is missing or does not measure with SHA-256, and
    ///   `errSecParam` for a nonce that is too long.
    func quote(nonce: [UInt8]) async throws(KeychainError) -> BootQuote
}

/// A secret that only the chip with a given endorsement key and attestation key can recover.
///
/// The result of `TPM2_MakeCredential`, in a chip or in software: TPM 2.0 Part 1, section 24.
public struct ActivationChallenge: Sendable, Equatable {
    /// The longest part, in bytes: an RSA 3072 ciphertext.
    public static let longestPart = 384

    /// The content of TPM2B_ID_OBJECT: the integrity code and the encrypted secret.
    public let credential: [UInt8]
    /// The content of TPM2B_ENCRYPTED_SECRET: the seed, encrypted to the endorsement key.
    public let encryptedSecret: [UInt8]

    /// Combines both parts.
    public init(credential: [UInt8], encryptedSecret: [UInt8]) {
        self.credential = credential
        self.encryptedSecret = encryptedSecret
    }
}
