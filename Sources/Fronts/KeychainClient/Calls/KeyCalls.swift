import CBOR
public import KeychainModel
public import SecretMemory

/// Private keys: make, read, use; they never come here.
extension RemoteKeychain {
    /// Makes a P-256 key.
    ///
    /// - Returns: its representation, which brings it back on this machine alone, and its public key.
    /// - Throws: ``KeychainError`` with `errSecParam` for flags without `privateKeyUsage`.
    public func makeKey(
        _ request: MakeKey,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> EnclaveKey {
        try request.prompt.checkLimits()
        return try call(.makeKey, request, reply: KeyReply.self, cancellation: cancellation).key
    }

    /// Reads a representation without using the key.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for one that is not authentic or of another program,
    ///   `errSecItemNotFound` with the cause ``DriverCause/invalidated`` when its enrolled set is gone.
    public func readKey(
        _ request: ReadKey,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> EnclaveKey {
        try request.representation.checkRepresentation()
        try request.prompt.checkLimits()
        return try call(.readKey, request, reply: KeyReply.self, cancellation: cancellation).key
    }

    /// Signs, agrees or decrypts with a key, asking the user where the key demands it.
    ///
    /// - Returns: r and s of 32 bytes each, or the shared secret, 32 bytes.
    /// - Throws: as ``readKey(_:cancellation:)``, and ``KeychainError`` with `errSecParam` for a digest or a
    ///   public key that is none.
    public func useKey(
        _ request: UseKey,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> SecretBytes {
        try request.representation.checkRepresentation()
        guard request.use.isWellFormed else { throw KeychainError(.param) }
        try request.prompt.checkLimits()
        return try call(.useKey, request, reply: KeyResult.self, cancellation: cancellation).take()
    }

    /// Has hardware vouch for a key, asking the user where signing with it would.
    ///
    /// - Returns: the attestation, without evidence for a key that hardware does not keep.
    public func attestKey(
        _ request: AttestKey,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> Attestation {
        try request.representation.checkRepresentation()
        guard request.qualifyingData.count <= AttestKey.mostQualifyingData else {
            throw KeychainError(.param)
        }
        try request.prompt.checkLimits()
        return try call(.attestKey, request, reply: Attestation.self, cancellation: cancellation)
    }

    /// Who vouches for this machine's keys.
    ///
    /// - Throws: ``KeychainError`` with `errSecUnimplemented` without hardware.
    public func attestationIdentity() throws(KeychainError) -> AttestationIdentity {
        try call(.attestationIdentity, EmptyBody(), reply: AttestationIdentity.self)
    }

    /// Answers a server's challenge to the attestation key.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for a challenge to another key or chip.
    public func activate(_ challenge: ActivationChallenge) throws(KeychainError) -> SecretBytes {
        let longest = ActivationChallenge.longestPart
        guard max(challenge.credential.count, challenge.encryptedSecret.count) <= longest else {
            throw KeychainError(.param)
        }
        return try call(.activateCredential, challenge, reply: KeyResult.self).take()
    }
}

extension [UInt8] {
    fileprivate func checkRepresentation() throws(KeychainError) {
        guard count <= EnclaveKey.longestRepresentation else {
            throw KeychainError(.decode, cause: .damaged)
        }
    }
}
