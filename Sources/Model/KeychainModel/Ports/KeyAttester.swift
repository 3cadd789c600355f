public import SecretMemory

/// Vouches for keys of the hardware before somebody who has never seen this machine.
///
/// A server first learns who vouches, proves to itself that the attestation key lives in the chip of the
/// endorsement key (``activate(_:)``), and from then on believes what the attestation key signs:
///
///     let identity = try await attester.attestationIdentity()      // to the server: who vouches
///     let secret = try await attester.activate(challenge)          // the server's challenge, answered
///     let attestation = try await attester.attest(blob, authorization: authorization, qualifyingData: nonce)
public protocol KeyAttester: Sendable {
    /// Who vouches for keys.
    ///
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` when the chip is gone or its endorsement
    ///   hierarchy is closed.
    func attestationIdentity() async throws(KeychainError) -> AttestationIdentity

    /// Gives back the secret of a credential (TPM 2.0 Part 3, `TPM2_ActivateCredential`).
    ///
    /// - Parameter challenge: what the server made.
    /// - Returns: the secret, at most 64 bytes.
    /// - Throws: ``KeychainError`` with `errSecDecode` for a credential that was made for another attestation
    ///   key or another chip, `errSecParam` for one that is longer than any.
    func activate(_ challenge: ActivationChallenge) async throws(KeychainError) -> SecretBytes

    /// Has the attestation key certify a key (`TPM2_Certify`).
    ///
    /// - Parameters:
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: the key's own.
    ///   - qualifyingData: what the statement is to carry, at most 64 bytes: a digest with the server's nonce.
    /// - Returns: the statement, and all that is needed to check it.
    /// - Throws: as ``PrivateKeyHardware/sign(digest:with:authorization:)``, and `errSecParam` for qualifying
    ///   data that is too long.
    func attest(
        _ key: [UInt8],
        authorization: borrowing SecretBytes,
        qualifyingData: [UInt8]
    ) async throws(KeychainError) -> Attestation
}

/// A secret that only the chip of one endorsement key gives back, and only while one attestation key is there.
///
/// What `TPM2_MakeCredential` makes, here or in software: TPM 2.0 Part 1, section 24.
public struct ActivationChallenge: Sendable, Equatable {
    /// The longest part, in bytes: an RSA 3072 ciphertext.
    public static let longestPart = 384

    /// The content of TPM2B_ID_OBJECT: the integrity code and the encrypted secret.
    public let credential: [UInt8]
    /// The content of TPM2B_ENCRYPTED_SECRET: the seed, to the endorsement key.
    public let encryptedSecret: [UInt8]

    /// Holds both.
    public init(credential: [UInt8], encryptedSecret: [UInt8]) {
        self.credential = credential
        self.encryptedSecret = encryptedSecret
    }
}
