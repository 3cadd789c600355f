public import KeychainModel
public import SecretMemory

/// Attests keys of the TPM: with its endorsement key, an attestation key, and that key's statement about a key.
///
/// The endorsement key is the first one with a certificate in the chip, elliptic curves before RSA; without any, the
/// one of TCG's template L-2 (P-256), uncertified.
public final class TPMKeyAttester: KeyAttester {
    private let tpm: TPM
    /// The identity, which stays the same until the chip is cleared, so it is read once.
    private let known = Guarded<ChipIdentity?>(nil)

    /// Creates an attester for keys of a chip.
    public init(_ tpm: TPM) { self.tpm = tpm }

    /// The identity that attests keys.
    ///
    /// - Returns: the chip's endorsement key, its certificate, and the attestation key.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if the chip is missing, or one of its hierarchies needs
    ///   an authorisation.
    public func attestationIdentity() async throws(KeychainError) -> AttestationIdentity {
        let chip = try await tpm.chipIdentity(known: known.withLock { $0 })
        known.withLock { $0 = chip }
        return chip.identity
    }

    /// Returns the secret of a credential.
    ///
    /// - Parameter challenge: the server's challenge for the endorsement key and the attestation key's name.
    /// - Returns: the secret, at most 64 bytes.
    /// - Throws: ``KeychainError`` with `errSecDecode` for a credential made for another attestation key or another
    ///   chip, or altered in transit; `errSecParam` for one that is too long.
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
    ///   - authorization: the value that the key was created with.
    ///   - qualifyingData: the data to include in the statement, at most 64 bytes.
    /// - Returns: the statement, and all that is needed to verify it.
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

    /// Has the attestation key sign what the machine was started with.
    ///
    /// - Parameter nonce: the server's nonce, at most ``BootQuote/mostNonce`` bytes.
    /// - Returns: the quote, of all registers of ``BootRegisters``.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if the chip is missing, its owner's hierarchy needs an
    ///   authorisation, or it has no registers of SHA-256; `errSecParam` for a nonce that is too long.
    public func quote(nonce: [UInt8]) async throws(KeychainError) -> BootQuote {
        guard nonce.count <= BootQuote.mostNonce else { throw KeychainError(.param) }
        let quote = try await tpm.quote(nonce)
        guard quote.isWhole else {
            throw KeychainError(
                .notAvailable,
                cause: DriverCause(domain: "tpm", code: "noBank"),
                remedy: .check
            )
        }
        return quote
    }
}

/// The known identity of a chip.
struct ChipIdentity: Sendable {
    /// The name of its storage primary, which a clear changes, like the attestation key.
    let primaryName: [UInt8]
    /// The endorsement key in use.
    let endorsementKey: EndorsementKey
    /// The identity that a server gets.
    let identity: AttestationIdentity
}
