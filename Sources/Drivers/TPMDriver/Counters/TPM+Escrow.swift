import CTSS2
import KeychainModel
import SecretMemory

extension TPM {
    /// See ``TPMHardwareGuard/escrow(_:authorization:)``.
    ///
    /// A primary object of the NULL hierarchy contains the bytes, and leaves the chip as a saved context: the key
    /// that encrypts the context changes with each restart.
    func escrow(
        _ secret: borrowing SecretBytes,
        _ authorization: borrowing SecretBytes
    ) throws(KeychainError) -> [UInt8] {
        let value = AuthorizationValue.derive(.escrow, from: authorization)
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                var area = try TPMConnection.sealedData(policy: Policy.none, isGuessLimited: false)
                area.publicArea.objectAttributes |= kTPMA_OBJECT_USERWITHAUTH
                let object = try connection.createPrimary(
                    ESYS_TR_RH_NULL,
                    area,
                    try TPMConnection.sensitive(authorization: value, data: secret),
                    try connection.session([.command, .answer])
                )
                defer { connection.flush(object) }
                let blob = TPMBlob(
                    kind: .escrow,
                    primaryName: connection.primaryName,
                    object: WrappedObject(sensitive: try connection.saveContext(of: object), area: [])
                )
                return blob.encoded()
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMHardwareGuard/openEscrow(_:authorization:)``.
    func openEscrow(
        _ octets: [UInt8],
        _ authorization: borrowing SecretBytes
    ) throws(KeychainError) -> SecretBytes {
        let value = AuthorizationValue.derive(.escrow, from: authorization)
        do throws(TPMError) {
            guard let context = try TPMBlob(octets, .escrow).object?.sensitive else { throw .damaged }
            return try withConnection { connection throws(TPMError) in
                let object = try connection.loadContext(context)
                defer { connection.flush(object) }
                return try connection.withAuthorization(value, of: object) { () throws(TPMError) in
                    try connection.unseal(object, try connection.session(.answer))
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }
}

extension TPMConnection {
    fileprivate func saveContext(of object: ESYS_TR) throws(TPMError) -> [UInt8] {
        var context: UnsafeMutablePointer<TPMS_CONTEXT>?
        try send { unsafe Esys_ContextSave($0.pointer, object, &context) }
        guard let context = unsafe context else { throw .damaged }
        defer { unsafe Esys_Free(context) }
        var octets = [UInt8](repeating: 0, count: MemoryLayout<TPMS_CONTEXT>.size)
        var count = 0
        try local { _ in unsafe Tss2_MU_TPMS_CONTEXT_Marshal(context, &octets, octets.count, &count) }
        return Array(octets[..<count])
    }

    /// - Throws: ``TPMError/restarted`` if the chip no longer has the key that encrypted the context.
    fileprivate func loadContext(_ octets: [UInt8]) throws(TPMError) -> ESYS_TR {
        var context = TPMS_CONTEXT()
        var count = 0
        guard unsafe Tss2_MU_TPMS_CONTEXT_Unmarshal(octets, octets.count, &count, &context) == 0,
            count == octets.count
        else { throw .damaged }
        var object = ESYS_TR_NONE
        do throws(TPMError) {
            try send { unsafe Esys_ContextLoad($0.pointer, &context, &object) }
        } catch {
            throw error.tpmError == ResponseCode.integrity ? .restarted : error
        }
        return object
    }
}
