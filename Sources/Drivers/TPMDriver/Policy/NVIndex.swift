import CTSS2
internal import Primitives
import SecretMemory

/// The definition of an NV index; what it is named by.
struct NVIndex: Equatable {
    /// Where it lies.
    let handle: TPM2_HANDLE
    /// Type and rights, without `TPMA_NV_WRITTEN`.
    let attributes: TPMA_NV
    /// Who may write it, with `TPMA_NV_POLICYWRITE`.
    let policy: [UInt8]
    /// Bytes.
    static let byteCount: UInt16 = 8

    /// Counts wrong authorisations (`TPM2_NT_PIN_FAIL`): count and limit, 4 bytes each.
    ///
    /// Written once and never again, not even by the owner: a count that could be set back would limit nothing.
    /// A new passcode gets a new index. The owner can delete it, which opens nothing, because what is sealed wants
    /// its own authorisation value too.
    static func pin(_ handle: TPM2_HANDLE) -> NVIndex {
        NVIndex(
            handle: handle,
            attributes: kTPMA_NV_PIN_FAIL | kTPMA_NV_POLICYWRITE | kTPMA_NV_OWNERREAD | kTPMA_NV_AUTHREAD
                | kTPMA_NV_NO_DA,
            policy: Policy().neverWritten().digest
        )
    }

    /// Only ever grows (`TPM2_NT_COUNTER`); one that is made anew starts above all that were deleted.
    static func counter(_ handle: TPM2_HANDLE) -> NVIndex {
        NVIndex(
            handle: handle,
            attributes: kTPMA_NV_COUNTER | kTPMA_NV_AUTHREAD | kTPMA_NV_AUTHWRITE | kTPMA_NV_OWNERREAD
                | kTPMA_NV_NO_DA,
            policy: []
        )
    }

    /// A part of the handles that are the owner's (0x01800000 to 0x01BFFFFF in the TCG's registry).
    ///
    /// Which of them is free, only the chip decides: defining an index never replaces one.
    static let handles: ClosedRange<TPM2_HANDLE> = 0x01A7_0000...0x01A7_FFFF

    /// The name once it was written (Part 1, 16): the digest of all that defines it.
    var name: [UInt8] { name(attributes | kTPMA_NV_WRITTEN) }

    /// The name before.
    var nameBeforeWritten: [UInt8] { name(attributes) }

    private func name(_ attributes: TPMA_NV) -> [UInt8] {
        let area =
            handle.bigEndianOctets + kTPM2_ALG_SHA256.bigEndianOctets + attributes.bigEndianOctets
            + UInt16(policy.count).bigEndianOctets + policy + Self.byteCount.bigEndianOctets
        return kTPM2_ALG_SHA256.bigEndianOctets + SHA256.digest(of: area)
    }
}

extension TPMConnection {
    /// Makes an index (`TPM2_NV_DefineSpace`), with this authorisation value; empty for none.
    func define(
        _ index: NVIndex,
        authorization: borrowing SecretBytes
    ) throws(TPMError) {
        var area = TPM2B_NV_PUBLIC()
        area.nvPublic.nvIndex = index.handle
        area.nvPublic.nameAlg = kTPM2_ALG_SHA256
        area.nvPublic.attributes = index.attributes
        try TPM2B.set(&area.nvPublic.authPolicy, index.policy)
        area.nvPublic.dataSize = NVIndex.byteCount
        var value = TPM2B_AUTH()
        defer { TPM2B.wipe(&value) }
        try TPM2B.set(&value, authorization)
        var handle = ESYS_TR_NONE
        let session = try session(.command)
        try asOwner { () throws(TPMError) in
            try send {
                unsafe Esys_NV_DefineSpace(
                    $0.pointer,
                    ESYS_TR_RH_OWNER,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    &value,
                    &area,
                    &handle
                )
            }
        }
        forgetAuthorization(of: handle)
        forget(index)
        indices[index.handle] = handle
    }

    /// The index's handle in the library, once its definition was seen to be this one.
    ///
    /// - Throws: ``TPMError/missingIndex`` when there is none, another one, or one that was never written.
    func handle(of index: NVIndex) throws(TPMError) -> ESYS_TR {
        if let known = indices[index.handle] {
            if try name(of: known) == index.name { return known }
            forget(index)
        }
        let handle = try known(index)
        guard try name(of: handle) == index.name else {
            forget(index)
            throw .missingIndex
        }
        return handle
    }

    /// Runs commands on an index; one that is gone since it was looked at is forgotten.
    func withIndex<R: ~Copyable>(
        _ index: NVIndex,
        _ body: (ESYS_TR) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        let handle = try handle(of: index)
        do throws(TPMError) {
            return try body(handle)
        } catch {
            guard error.tpmError == ResponseCode.handle else { throw error }
            forget(index)
            throw .missingIndex
        }
    }

    /// Removes an index with the owner's rights, if it still has one of these names.
    func undefine(_ index: NVIndex, named names: [[UInt8]]) throws(TPMError) {
        let known = try known(index)
        guard names.contains(try name(of: known)) else {
            forget(index)
            throw .missingIndex
        }
        let session = try session()
        try asOwner { () throws(TPMError) in
            try send {
                unsafe Esys_NV_UndefineSpace(
                    $0.pointer,
                    ESYS_TR_RH_OWNER,
                    known,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE
                )
            }
        }
        indices[index.handle] = nil
    }

    /// The library's handle for what lies at the index's handle, whatever it is.
    private func known(_ index: NVIndex) throws(TPMError) -> ESYS_TR {
        if let known = indices[index.handle] { return known }
        var handle = ESYS_TR_NONE
        do throws(TPMError) {
            try send {
                unsafe Esys_TR_FromTPMPublic(
                    $0.pointer,
                    index.handle,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    &handle
                )
            }
        } catch {
            throw error.tpmError == ResponseCode.handle ? .missingIndex : error
        }
        indices[index.handle] = handle
        return handle
    }

    private func forget(_ index: NVIndex) {
        guard var handle = indices.removeValue(forKey: index.handle) else { return }
        try? local { unsafe Esys_TR_Close($0.pointer, &handle) }
    }
}
