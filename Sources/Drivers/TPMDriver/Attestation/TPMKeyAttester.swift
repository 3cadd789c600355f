public import KeychainModel
public import SecretMemory

/// Vouches for keys of the TPM: its endorsement key, an attestation key, and what that says of a key.
///
/// The endorsement key is the first of those that the chip holds a certificate of, elliptic curves before RSA;
/// where it holds none, the TCG's template L-2 (P-256) without one.
public final class TPMKeyAttester: KeyAttester {
    private let tpm: TPM
    /// What does not change while the chip is not cleared, so that it is asked for once.
    private let known = Guarded<ChipIdentity?>(nil)

    /// Vouches for keys of a chip.
    public init(_ tpm: TPM) { self.tpm = tpm }

    /// Who vouches for keys.
    ///
    /// - Returns: the chip's endorsement key, its certificate, and the attestation key.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` when the chip is gone, or one of its hierarchies
    ///   demands an authorisation.
    public func attestationIdentity() async throws(KeychainError) -> AttestationIdentity {
        let chip = try await tpm.chipIdentity(known: known.withLock { $0 })
        known.withLock { $0 = chip }
        return chip.identity
    }

    /// Gives back the secret of a credential.
    ///
    /// - Parameter challenge: what the server made for the endorsement key and the attestation key's name.
    /// - Returns: the secret, at most 64 bytes.
    /// - Throws: ``KeychainError`` with `errSecDecode` for a credential that was made for another attestation key
    ///   or another chip, or changed on the way; `errSecParam` for one that is too long.
    public func activate(_ challenge: ActivationChallenge) async throws(KeychainError) -> SecretBytes {
        let longest = ActivationChallenge.longestPart
        guard challenge.credential.count <= longest, challenge.encryptedSecret.count <= longest else {
            throw KeychainError(.param)
        }
        let chip = try await tpm.chipIdentity(known: known.withLock { $0 })
        known.withLock { $0 = chip }
        return try await tpm.activate(challenge, chip.endorsementKey)
    }

    /// Has the attestation key certify a key.
    ///
    /// - Parameters:
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: what the key was made with.
    ///   - qualifyingData: what the statement is to carry, at most 64 bytes.
    /// - Returns: the statement, and all that is needed to check it.
    /// - Throws: as ``TPMPrivateKeys/sign(digest:with:authorization:)``, and `errSecParam` for qualifying data that
    ///   is too long.
    public func attest(
        _ key: [UInt8],
        authorization: borrowing SecretBytes,
        qualifyingData: [UInt8]
    ) async throws(KeychainError) -> Attestation {
        guard qualifyingData.count <= 64 else { throw KeychainError(.param) }
        let chip = try await tpm.chipIdentity(known: known.withLock { $0 })
        known.withLock { $0 = chip }
        return try await tpm.certify(key, authorization, qualifyingData, chip.identity)
    }
}

/// What is known of a chip.
struct ChipIdentity: Sendable {
    /// The name of its storage primary, which a clear changes, as it changes the attestation key.
    let primaryName: [UInt8]
    /// Which of the endorsement keys.
    let endorsementKey: EndorsementKey
    /// What a server is told.
    let identity: AttestationIdentity
}
