import CTSS2
import KeychainModel
import SecretMemory

extension TPM {
    /// See ``TPMKeySealer/seal(authorization:for:)``.
    ///
    /// The object is created before the index, to shorten the time in which a power failure would leave the index
    /// behind.
    func sealDeviceSecret(
        _ authorization: borrowing SecretBytes,
        for label: KeychainLabel
    ) throws(KeychainError) -> SealedDeviceSecret {
        let secret = SecretBytes.random(count: 32)
        let value = AuthorizationValue.derive(.seal, from: authorization)
        let pin = AuthorizationValue.derive(.pin, from: authorization)
        let blob: TPMBlob
        do throws(TPMError) {
            blob = try withConnection { connection throws(TPMError) in
                var object: WrappedObject?
                return try withNewIndex(.keybag, of: label, on: connection, authorization: pin) {
                    handle,
                    label throws(TPMError) in
                    let index = NVIndex.pin(handle, label)
                    let area = try TPMConnection.sealedData(
                        policy: Policy().secret(of: index.name).authValue(),
                        isGuessLimited: true
                    )
                    object = try connection.create(area, authorization: value, data: secret)
                    return index
                } _: { index throws(TPMError) in
                    try connection.limitAttempts(of: index, label)
                    return TPMBlob(
                        kind: .keybag,
                        primaryName: connection.primaryName,
                        index: index.handle,
                        object: object,
                        label: label
                    )
                }
            }
        } catch {
            throw KeychainError(error)
        }
        return SealedDeviceSecret(blob: blob.encoded(), secret: secret)
    }

    /// See ``TPMKeySealer/unseal(_:authorization:)``.
    func unsealDeviceSecret(
        _ octets: [UInt8],
        _ authorization: borrowing SecretBytes
    ) throws(KeychainError) -> SecretBytes {
        let value = AuthorizationValue.derive(.seal, from: authorization)
        let pin = AuthorizationValue.derive(.pin, from: authorization)
        do throws(TPMError) {
            let blob = try TPMBlob(octets, .keybag)
            guard let object = blob.object else { throw TPMError.damaged }
            return try withPINIndex(of: blob) { connection, index throws(TPMError) in
                try connection.withPolicySession { policy throws(TPMError) in
                    // A wrong passcode fails here, before any step that the chip's own limit counts.
                    try connection.withAuthorization(pin, of: index) { () throws(TPMError) in
                        try connection.policySecret(of: index, policy)
                    }
                    try connection.policyAuthValue(policy)
                    return try connection.withLoaded(object) { object throws(TPMError) in
                        try connection.withAuthorization(value, of: object) { () throws(TPMError) in
                            try connection.setUse(of: policy, .answer)
                            return try connection.unseal(object, policy)
                        }
                    }
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMKeySealer/countedFailures(of:)``.
    func countedFailures(_ octets: [UInt8]) throws(KeychainError) -> UInt32 {
        do throws(TPMError) {
            let blob = try TPMBlob(octets, .keybag)
            return try withPINIndex(of: blob) { connection, index throws(TPMError) in
                let count = try connection.failures(at: index)
                if let lockout = try connection.lockout() { throw lockout }
                return count
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// Runs commands on a blob's PIN index.
    ///
    /// A missing index was removed, or the chip was cleared, which only the primary of a new connection tells; the
    /// commands are then run again, without further effect.
    private func withPINIndex<R: ~Copyable>(
        of blob: TPMBlob,
        _ body: (TPMConnection, ESYS_TR) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        guard let index = blob.definition else { throw .damaged }
        func run() throws(TPMError) -> R {
            try withConnection { connection throws(TPMError) in
                guard connection.primaryName == blob.primaryName else { throw .otherHardware }
                return try connection.withIndex(index) { index throws(TPMError) in
                    try body(connection, index)
                }
            }
        }
        do throws(TPMError) {
            return try run()
        } catch {
            guard error == .missingIndex else { throw error }
        }
        close()
        return try run()
    }

    /// Removes a blob's index, unless it is gone already.
    func destroy(_ octets: [UInt8], _ kind: TPMBlob.Kind) throws(KeychainError) {
        do throws(TPMError) {
            try remove(try TPMBlob(octets, kind))
        } catch {
            throw KeychainError(error)
        }
    }

    /// Removes a blob's index, and its note once the index is gone.
    func remove(_ blob: TPMBlob) throws(TPMError) {
        guard let index = blob.definition else { return }
        try withConnection { connection throws(TPMError) in
            guard connection.primaryName == blob.primaryName else { throw .otherHardware }
            try connection.remove(index)
        }
        try forgetNote(of: blob)
    }

    /// Whether a blob was made with this chip and the chip was not cleared since.
    func isOwn(_ octets: [UInt8], _ kind: TPMBlob.Kind) -> Bool {
        guard let blob = try? TPMBlob(octets, kind) else { return false }
        let name = try? withConnection { connection throws(TPMError) in connection.primaryName }
        return name == blob.primaryName
    }
}

extension TPMConnection {
    /// Writes the count and the limit of a new PIN index, which can be written only once.
    func limitAttempts(of index: NVIndex, _ label: KeychainLabel?) throws(TPMError) {
        guard let handle = indices[index.handle] else { throw .missingIndex }
        var data = TPM2B_MAX_NV_BUFFER()
        try TPM2B.set(&data, UInt32(0).bigEndianOctets + TPMKeySealer.attempts.bigEndianOctets)
        try withPolicySession { session throws(TPMError) in
            try sendStep(handles: 1) {
                unsafe Esys_PolicyNvWritten(
                    $0.pointer,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    TPMI_YES_NO(TPM2_NO)
                )
            }
            if let label { try policyOr(Policy().neverWritten(), label, session) }
            try setUse(of: session)
            try send {
                unsafe Esys_NV_Write(
                    $0.pointer,
                    handle,
                    handle,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    &data,
                    0
                )
            }
        }
    }

    /// The wrong authorisations that a PIN index has counted (`TPMS_NV_PIN_COUNTER_PARAMETERS`, first half).
    ///
    /// Read with the owner's rights, which does not count as an attempt.
    func failures(at index: ESYS_TR) throws(TPMError) -> UInt32 {
        var data: UnsafeMutablePointer<TPM2B_MAX_NV_BUFFER>?
        let session = try session(.answer)
        var octets: [UInt8] = []
        try asOwner { () throws(TPMError) in
            try send {
                unsafe Esys_NV_Read(
                    $0.pointer,
                    ESYS_TR_RH_OWNER,
                    index,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    NVIndex.byteCount,
                    0,
                    &data
                )
            }
            octets = unsafe TPM2B.take(data)
        }
        guard let count = UInt32(bigEndianOctets: Array(octets.prefix(4))) else { throw .damaged }
        return count
    }

    /// Proves knowledge of an entity's authorisation value (`TPM2_PolicySecret`).
    func policySecret(of entity: ESYS_TR, _ policy: ESYS_TR) throws(TPMError) {
        let session = try session()
        try sendStep(handles: 2) {
            unsafe Esys_PolicySecret(
                $0.pointer,
                entity,
                policy,
                session,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                nil,
                nil,
                nil,
                0,
                nil,
                nil
            )
        }
    }

    /// Extends a policy that was just satisfied by the alternative that carries the label (`TPM2_PolicyOR`).
    private func policyOr(
        _ satisfied: Policy,
        _ label: KeychainLabel,
        _ policy: ESYS_TR
    ) throws(TPMError) {
        var list = TPML_DIGEST()
        list.count = 2
        try TPM2B.set(&list.digests.0, satisfied.digest)
        try TPM2B.set(&list.digests.1, label.octets)
        try sendStep(handles: 1) {
            unsafe Esys_PolicyOR($0.pointer, policy, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &list)
        }
    }

    /// Makes the policy need the object's own authorisation value for its final command (`TPM2_PolicyAuthValue`).
    func policyAuthValue(_ policy: ESYS_TR) throws(TPMError) {
        try sendStep(handles: 1) {
            unsafe Esys_PolicyAuthValue($0.pointer, policy, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE)
        }
    }
}
