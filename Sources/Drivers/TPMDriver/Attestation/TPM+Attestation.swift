import CTSS2
import KeychainModel
import SecretMemory
import WebAuthnModel

extension TPM {
    /// See ``TPMKeyAttester/attestationIdentity()``.
    ///
    /// - Parameter known: an earlier result: it holds as long as the chip is the same and was not cleared.
    /// - Returns: the identity that holds now.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable`.
    func chipIdentity(known: ChipIdentity?) throws(KeychainError) -> ChipIdentity {
        try withHierarchies { connection throws(TPMError) in
            if let known, known.primaryName == connection.primaryName { return known }
            let (endorsementKey, area, certificate) = try connection.endorsementKey()
            let attestationKey = try connection.withPrimary(.attestation) { _, area in area }
            return ChipIdentity(
                primaryName: connection.primaryName,
                endorsementKey: endorsementKey,
                identity: AttestationIdentity(
                    endorsementKey: try PublicArea.structure(area),
                    certificates: certificate.map { [$0] } ?? [],
                    attestationKey: try PublicArea.structure(attestationKey)
                )
            )
        }
    }

    /// See ``TPMKeyAttester/activate(_:)``.
    func activate(
        _ challenge: ActivationChallenge,
        _ endorsementKey: EndorsementKey
    ) throws(KeychainError) -> SecretBytes {
        var credential = TPM2B_ID_OBJECT()
        var encryptedSecret = TPM2B_ENCRYPTED_SECRET()
        do {
            try TPM2B.set(&credential, challenge.credential)
            try TPM2B.set(&encryptedSecret, challenge.encryptedSecret)
        } catch {
            throw KeychainError(.param)
        }
        return try withHierarchies(refusedParameter: .decode) { connection throws(TPMError) in
            try connection.withPrimary(.endorsement(endorsementKey)) { endorsement, _ throws(TPMError) in
                try connection.withPrimary(.attestation) { attestation, _ throws(TPMError) in
                    try connection.withAuthorization(of: endorsementKey) { policy throws(TPMError) in
                        try connection.activate(
                            &credential,
                            &encryptedSecret,
                            attestation,
                            endorsement,
                            policy
                        )
                    }
                }
            }
        }
    }

    /// See ``TPMKeyAttester/attest(_:authorization:qualifyingData:)``.
    func certify(
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes,
        _ qualifyingData: [UInt8],
        _ identity: AttestationIdentity
    ) throws(KeychainError) -> Attestation {
        do {
            return try withLoadedKey(blob, authorization) { connection, key, area throws(TPMError) in
                try connection.withPrimary(.attestation) { attestationKey, _ throws(TPMError) in
                    let (statement, signature) = try connection.certify(key, attestationKey, qualifyingData)
                    return Attestation(
                        publicKey: P256Octets.x963(unsafe area.publicArea.unique.ecc),
                        evidence: Attestation.Evidence(
                            identity: identity,
                            certification: KeyCertification(
                                publicArea: try PublicArea.structure(area),
                                statement: statement,
                                signature: signature,
                                policy: PrivateKeyTemplate.transcript
                            )
                        )
                    )
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMKeyAttester/quote(nonce:)``; the quote may leave out registers that the chip does not have.
    func quote(_ nonce: [UInt8]) throws(KeychainError) -> BootQuote {
        try withHierarchies { connection throws(TPMError) in
            try connection.withPrimary(.attestation) { attestationKey, _ throws(TPMError) in
                try connection.quote(attestationKey, nonce)
            }
        }
    }

    /// Runs commands that no user authorises: a wrong authorisation means that a hierarchy's is not empty.
    ///
    /// - Parameters:
    ///   - refusedParameter: the error for a parameter that the chip refuses.
    ///   - body: sends commands; safe to run twice.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, as a ``KeychainError``.
    private func withHierarchies<R: ~Copyable>(
        refusedParameter: Status = .internalComponent,
        _ body: (TPMConnection) throws(TPMError) -> R
    ) throws(KeychainError) -> R {
        do {
            return try withConnection(body)
        } catch {
            let isRefusedParameter = error.isRefusedParameter
            let error = KeychainError(error)
            if isRefusedParameter { throw KeychainError(refusedParameter, cause: error.cause) }
            guard error.status == .authFailed else { throw error }
            throw KeychainError(.notAvailable, cause: error.cause, remedy: .check)
        }
    }
}

/// The primaries for attestation; both are created again from their templates whenever they are needed.
private enum Primary {
    case endorsement(EndorsementKey)
    case attestation

    var hierarchy: ESYS_TR {
        switch self {
        case .endorsement: ESYS_TR_RH_ENDORSEMENT
        case .attestation: ESYS_TR_RH_OWNER
        }
    }

    func template() throws(TPMError) -> TPM2B_PUBLIC {
        switch self {
        case .endorsement(let key): try key.template()
        case .attestation: try AttestationKey.template()
        }
    }
}

extension TPMConnection {
    /// Creates a primary for the duration of `body`, which gets its handle and its public area.
    fileprivate func withPrimary<R: ~Copyable>(
        _ primary: Primary,
        _ body: (ESYS_TR, TPM2B_PUBLIC) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        var template = try primary.template()
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var handle = ESYS_TR_NONE
        var area: UnsafeMutablePointer<TPM2B_PUBLIC>?
        try send {
            unsafe Esys_CreatePrimary(
                $0.pointer,
                primary.hierarchy,
                ESYS_TR_PASSWORD,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &sensitive,
                &template,
                &outside,
                &registers,
                &handle,
                &area,
                nil,
                nil,
                nil
            )
        }
        defer { flush(handle) }
        defer { unsafe Esys_Free(area) }
        guard let area = unsafe area else { throw .damaged }
        return try body(handle, unsafe area.pointee)
    }

    /// The endorsement key to use, and its certificate if the chip holds a matching one.
    ///
    /// A chip whose maker used its own template creates another key than the certified one: that certificate is of no
    /// use here.
    fileprivate func endorsementKey() throws(TPMError) -> (
        EndorsementKey, TPM2B_PUBLIC, certificate: [UInt8]?
    ) {
        for key in try certifiedEndorsementKeys() {
            guard let certificate = try certificate(of: key) else { continue }
            let area = try withPrimary(.endorsement(key)) { _, area in area }
            if certificate.contains(EndorsementKey.publicKey(area)) { return (key, area, certificate) }
        }
        let area = try withPrimary(.endorsement(.lowP256)) { _, area in area }
        return (.lowP256, area, nil)
    }

    /// Lends the session that authorises the use of an endorsement key.
    fileprivate func withAuthorization<R: ~Copyable>(
        of key: EndorsementKey,
        _ body: (ESYS_TR) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        if key.takesAuthorization { return try body(ESYS_TR_PASSWORD) }
        return try withPolicySession { policy throws(TPMError) in
            try policySecret(of: ESYS_TR_RH_ENDORSEMENT, policy)
            try setUse(of: policy)
            return try body(policy)
        }
    }

    fileprivate func activate(
        _ credential: inout TPM2B_ID_OBJECT,
        _ encryptedSecret: inout TPM2B_ENCRYPTED_SECRET,
        _ attestationKey: ESYS_TR,
        _ endorsementKey: ESYS_TR,
        _ policy: ESYS_TR
    ) throws(TPMError) -> SecretBytes {
        let session = try session(.answer)
        var secret: UnsafeMutablePointer<TPM2B_DIGEST>?
        try send {
            unsafe Esys_ActivateCredential(
                $0.pointer,
                attestationKey,
                endorsementKey,
                session,
                policy,
                ESYS_TR_NONE,
                &credential,
                &encryptedSecret,
                &secret
            )
        }
        wipeAnswer()
        return unsafe TPM2B.takeSecret(secret)
    }

    fileprivate func certify(
        _ key: ESYS_TR,
        _ attestationKey: ESYS_TR,
        _ qualifyingData: [UInt8]
    ) throws(TPMError) -> (statement: [UInt8], signature: [UInt8]) {
        var qualifying = TPM2B_DATA()
        try TPM2B.set(&qualifying, qualifyingData)
        var scheme = TPMT_SIG_SCHEME()
        scheme.scheme = kTPM2_ALG_NULL
        var statement: UnsafeMutablePointer<TPM2B_ATTEST>?
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        // Certifying needs the key's ADMIN role, for which its authValue suffices while `adminWithPolicy` is clear.
        let session = try session()
        try send {
            unsafe Esys_Certify(
                $0.pointer,
                key,
                attestationKey,
                session,
                ESYS_TR_PASSWORD,
                ESYS_TR_NONE,
                &qualifying,
                &scheme,
                &statement,
                &signature
            )
        }
        let octets = unsafe TPM2B.take(statement)
        return (octets, try unsafe P256Octets.signature(taking: signature))
    }
}

extension TPMConnection {
    fileprivate func quote(_ attestationKey: ESYS_TR, _ nonce: [UInt8]) throws(TPMError) -> BootQuote {
        var qualifying = TPM2B_DATA()
        try TPM2B.set(&qualifying, nonce)
        var scheme = TPMT_SIG_SCHEME()
        scheme.scheme = kTPM2_ALG_NULL
        var registers = TPML_PCR_SELECTION()
        registers.count = 1
        registers.pcrSelections.0.hash = kTPM2_ALG_SHA256
        registers.pcrSelections.0.sizeofSelect = 3
        registers.pcrSelections.0.pcrSelect.0 = BootRegisters.mask
        var statement: UnsafeMutablePointer<TPM2B_ATTEST>?
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        try send {
            unsafe Esys_Quote(
                $0.pointer,
                attestationKey,
                ESYS_TR_PASSWORD,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &qualifying,
                &scheme,
                &registers,
                &statement,
                &signature
            )
        }
        let octets = unsafe TPM2B.take(statement)
        return BootQuote(statement: octets, signature: try unsafe P256Octets.signature(taking: signature))
    }
}

extension PublicArea {
    /// TPMT_PUBLIC: the marshalled form without its size.
    fileprivate static func structure(_ area: TPM2B_PUBLIC) throws(TPMError) -> [UInt8] {
        Array(try octets(of: area).dropFirst(2))
    }
}
