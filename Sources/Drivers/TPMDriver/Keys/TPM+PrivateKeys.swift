import CTSS2
import KeychainModel
import SecretMemory

extension TPM {
    /// See ``TPMPrivateKeys/makeKey(authorization:)``.
    func makePrivateKey(_ authorization: borrowing SecretBytes) throws(KeychainError) -> HardwareKey {
        let value = PrivateKeyTemplate.authorizationValue(authorization)
        do {
            return try withConnection { connection throws(TPMError) in
                let object = try connection.create(
                    try PrivateKeyTemplate.make(),
                    authorization: value,
                    data: SecretBytes(copying: [])
                )
                let blob = TPMBlob(kind: .privateKey, primaryName: connection.primaryName, object: object)
                let area = try PublicArea.read(object.area)
                let publicKey = P256Octets.x963(unsafe area.publicArea.unique.ecc)
                return HardwareKey(blob: blob.encoded(), publicKey: publicKey)
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMPrivateKeys/sign(digest:with:authorization:)``.
    ///
    /// ECDSA uses the leftmost 256 bits of a digest, and a shorter one as a number (FIPS 186-5, section 6.4.1): so
    /// one scheme serves all digests, even on a chip that does not know the digest's algorithm.
    func sign(
        _ digest: [UInt8],
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes
    ) throws(KeychainError) -> [UInt8] {
        guard [20, 32, 48, 64].contains(digest.count) else { throw KeychainError(.param) }
        let number = P256Octets.padded(Array(digest.prefix(P256Octets.count)))
        do {
            return try withPrivateKey(blob, authorization) { connection, key, policy throws(TPMError) in
                try connection.sign(number, key, policy)
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMPrivateKeys/agree(with:key:authorization:)``.
    func agree(
        _ publicKey: [UInt8],
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes
    ) throws(KeychainError) -> SecretBytes {
        guard let point = P256Octets.point(x963: publicKey) else { throw KeychainError(.param) }
        do {
            return try withPrivateKey(blob, authorization) { connection, key, policy throws(TPMError) in
                try connection.agree(point, key, policy)
            }
        } catch {
            let isOffCurve = error.tpmError == ResponseCode.eccPoint
            let error = KeychainError(error)
            throw isOffCurve ? KeychainError(.param, cause: error.cause) : error
        }
    }

    /// Loads a key and a policy session with its authorisation value, for the one command that `body` ends with.
    private func withPrivateKey<R: ~Copyable>(
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes,
        _ body: (TPMConnection, _ key: ESYS_TR, _ policy: ESYS_TR) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        try withLoadedKey(blob, authorization) { connection, key, _ throws(TPMError) in
            try connection.withPolicySession { policy throws(TPMError) in
                try connection.policyAuthValue(policy)
                return try body(connection, key, policy)
            }
        }
    }

    /// Loads a key, and sets its authorisation value in the library, for the duration of `body`.
    ///
    /// - Parameters:
    ///   - octets: ``HardwareKey/blob``.
    ///   - authorization: the value that the key was created with.
    ///   - body: gets the connection, the key's handle, and its public area.
    /// - Returns: what `body` returns.
    /// - Throws: ``TPMError/otherHardware`` and ``TPMError/damaged`` for a blob that this chip does not load.
    func withLoadedKey<R: ~Copyable>(
        _ octets: [UInt8],
        _ authorization: borrowing SecretBytes,
        _ body: (TPMConnection, ESYS_TR, TPM2B_PUBLIC) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        let blob = try TPMBlob(octets, .privateKey)
        guard let object = blob.object else { throw .damaged }
        let area = try PublicArea.read(object.area)
        // The library ignores the size field at the start.
        guard PrivateKeyTemplate.describes(area), try PublicArea.octets(of: area) == object.area else {
            throw .damaged
        }
        let value = PrivateKeyTemplate.authorizationValue(authorization)
        return try withConnection { connection throws(TPMError) in
            guard connection.primaryName == blob.primaryName else { throw .otherHardware }
            var isLoaded = false
            do throws(TPMError) {
                return try connection.withLoaded(object) { key throws(TPMError) in
                    isLoaded = true
                    return try connection.withAuthorization(value, of: key) { () throws(TPMError) in
                        try body(connection, key, area)
                    }
                }
            } catch {
                throw isLoaded || !error.isRefusedParameter ? error : .damaged
            }
        }
    }
}

extension TPMConnection {
    fileprivate func sign(
        _ number: [UInt8],
        _ key: ESYS_TR,
        _ policy: ESYS_TR
    ) throws(TPMError) -> [UInt8] {
        var digest = TPM2B_DIGEST()
        try TPM2B.set(&digest, number)
        var scheme = TPMT_SIG_SCHEME()
        scheme.scheme = kTPM2_ALG_ECDSA
        unsafe scheme.details.ecdsa.hashAlg = kTPM2_ALG_SHA256
        // The chip did not compute this digest; the key is not restricted to its own.
        var ticket = TPMT_TK_HASHCHECK()
        ticket.tag = TPM2_ST(TPM2_ST_HASHCHECK)
        ticket.hierarchy = TPMI_RH_HIERARCHY(TPM2_RH_NULL)
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        try setUse(of: policy, .command)
        try send {
            unsafe Esys_Sign(
                $0.pointer,
                key,
                policy,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &digest,
                &scheme,
                &ticket,
                &signature
            )
        }
        return try unsafe P256Octets.signature(taking: signature)
    }

    fileprivate func agree(
        _ point: TPM2B_ECC_POINT,
        _ key: ESYS_TR,
        _ policy: ESYS_TR
    ) throws(TPMError) -> SecretBytes {
        var point = point
        var shared: UnsafeMutablePointer<TPM2B_ECC_POINT>?
        try setUse(of: policy, [.command, .answer])
        try send {
            unsafe Esys_ECDH_ZGen($0.pointer, key, policy, ESYS_TR_NONE, ESYS_TR_NONE, &point, &shared)
        }
        wipeAnswer()
        return try unsafe P256Octets.sharedSecret(taking: shared)
    }
}

extension ResponseCode {
    /// `TPM_RC_ECC_POINT`: not on the curve (0x1e7).
    fileprivate static let eccPoint: UInt32 = 0xA7
}
