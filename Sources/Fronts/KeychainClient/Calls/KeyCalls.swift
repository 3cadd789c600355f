import CBOR
public import KeychainModel
public import SecretMemory

/// Requests to make, read and use private keys, which never leave the daemon.
extension RemoteKeychain {
    /// Makes a P-256 key.
    ///
    /// - Returns: the representation, from which only this machine can restore the key, and the public key.
    /// - Throws: ``KeychainError`` with `errSecParam` for flags without `privateKeyUsage`.
    public func makeKey(
        _ request: MakeKey,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> EnclaveKey {
        try request.prompt.checkLimits()
        return try call(.makeKey, request, reply: KeyReply.self, cancellation: cancellation).key
    }

    /// Validates a representation without using the key.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for a representation that is not authentic or belongs
    ///   to another program, `errSecItemNotFound` with the cause ``DriverCause/invalidated`` if its set of
    ///   enrolled fingers changed.
    public func readKey(
        _ request: ReadKey,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> EnclaveKey {
        try request.representation.checkRepresentation()
        try request.prompt.checkLimits()
        return try call(.readKey, request, reply: KeyReply.self, cancellation: cancellation).key
    }

    /// Signs, agrees or decrypts with a key, and asks the user if the key's access control requires it.
    ///
    /// - Returns: r and s of 32 bytes each, or the shared secret, 32 bytes.
    /// - Throws: as ``readKey(_:cancellation:)``, and ``KeychainError`` with `errSecParam` for an invalid
    ///   digest or public key.
    public func useKey(
        _ request: UseKey,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> SecretBytes {
        try request.representation.checkRepresentation()
        guard request.use.isWellFormed else { throw KeychainError(.param) }
        try request.prompt.checkLimits()
        return try call(.useKey, request, reply: KeyResult.self, cancellation: cancellation).take()
    }

    /// Makes a hardware attestation of a key, and asks the user if signing with the key would.
    ///
    /// - Returns: the attestation, without evidence for a software key.
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

    /// The identity that attests this machine's keys.
    ///
    /// - Throws: ``KeychainError`` with `errSecUnimplemented` without hardware.
    public func attestationIdentity() throws(KeychainError) -> AttestationIdentity {
        try call(.attestationIdentity, EmptyBody(), reply: AttestationIdentity.self)
    }

    /// Answers a server's challenge for the attestation key.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for a challenge for another key or chip.
    public func activate(_ challenge: ActivationChallenge) throws(KeychainError) -> SecretBytes {
        let longest = ActivationChallenge.longestPart
        guard max(challenge.credential.count, challenge.encryptedSecret.count) <= longest else {
            throw KeychainError(.param)
        }
        return try call(.activateCredential, challenge, reply: KeyResult.self).take()
    }

    /// The hardware's signed statement of what the machine was started with.
    ///
    /// - Parameter nonce: a server's nonce, at most ``BootQuote/mostNonce`` bytes.
    /// - Returns: the statement and its signature by the attestation key.
    /// - Throws: ``KeychainError`` with `errSecUnimplemented` without hardware, `errSecNotAvailable` if it does not measure
    ///   with SHA-256.
    public func quote(nonce: [UInt8]) throws(KeychainError) -> BootQuote {
        guard nonce.count <= BootQuote.mostNonce else { throw KeychainError(.param) }
        return try call(.quoteBoot, BootQuoteRequest(nonce: nonce), reply: BootQuote.self)
    }

    /// As ``quote(nonce:)``, but nil for `errSecNotAvailable`: whether to go on without a quote is the server's decision.
    public func quoteIfAvailable(nonce: [UInt8]) throws(KeychainError) -> BootQuote? {
        do throws(KeychainError) {
            return try quote(nonce: nonce)
        } catch {
            guard error.status == .notAvailable else { throw error }
            return nil
        }
    }
}

extension [UInt8] {
    fileprivate func checkRepresentation() throws(KeychainError) {
        guard count <= EnclaveKey.longestRepresentation else {
            throw KeychainError(.decode, cause: .damaged)
        }
    }
}
