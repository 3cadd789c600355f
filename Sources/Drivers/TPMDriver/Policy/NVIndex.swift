import CTSS2
internal import Primitives
import SecretMemory

/// The definition of an NV index, from which its name is computed.
struct NVIndex: Equatable {
    /// The handle of the index.
    let handle: TPM2_HANDLE
    /// Type and access rights, without `TPMA_NV_WRITTEN`.
    let attributes: TPMA_NV
    /// The digest of the policy for writing, with `TPMA_NV_POLICYWRITE`; otherwise a label, or empty.
    let policy: [UInt8]
    /// The size of the data in bytes.
    static let byteCount: UInt16 = 8

    /// An index that counts failed authorisations (`TPM2_NT_PIN_FAIL`): count and limit, 4 bytes each.
    ///
    /// Written once and never again, not even by the owner: a count that can be reset limits nothing. A new passcode
    /// gets a new index. The owner can delete the index, which opens nothing, because the sealed object requires its
    /// own authorisation value too.
    static func pin(_ handle: TPM2_HANDLE, _ label: KeychainLabel?) -> NVIndex {
        NVIndex(
            handle: handle,
            attributes: kTPMA_NV_PIN_FAIL | kTPMA_NV_POLICYWRITE | kTPMA_NV_OWNERREAD | kTPMA_NV_AUTHREAD
                | kTPMA_NV_NO_DA,
            policy: label?.alternative(to: Policy().neverWritten()).digest ?? Policy().neverWritten().digest
        )
    }

    /// A counter that only increases (`TPM2_NT_COUNTER`); a new one starts above the values of all deleted ones.
    static func counter(_ handle: TPM2_HANDLE, _ label: KeychainLabel?) -> NVIndex {
        NVIndex(
            handle: handle,
            attributes: kTPMA_NV_COUNTER | kTPMA_NV_AUTHREAD | kTPMA_NV_AUTHWRITE | kTPMA_NV_OWNERREAD
                | kTPMA_NV_NO_DA,
            // Read and written with the authorisation value alone: here the policy does nothing but carry the label.
            policy: label?.octets ?? []
        )
    }

    /// An index that is never written: that it exists tells that the chip knows a keychain (`TPM2_NT_ORDINARY`).
    ///
    /// Its policy for writing is the label, which no session can satisfy.
    static func mark(_ handle: TPM2_HANDLE, _ label: KeychainLabel) -> NVIndex {
        NVIndex(
            handle: handle,
            attributes: kTPMA_NV_POLICYWRITE | kTPMA_NV_OWNERREAD | kTPMA_NV_NO_DA,
            policy: label.octets
        )
    }

    /// Both definitions that an index of a seal or a counter with this label can have.
    static func all(_ handle: TPM2_HANDLE, _ label: KeychainLabel) -> [NVIndex] {
        [.pin(handle, label), .counter(handle, label)]
    }

    /// A part of the owner's handles (0x01800000 to 0x01BFFFFF in the TCG's registry).
    ///
    /// Only the TPM knows which are free: defining an index never replaces one.
    static let handles: ClosedRange<TPM2_HANDLE> = 0x01A7_0000...0x01A7_FFFF

    /// The name once the index was written (Part 1, section 16): the digest of its public area.
    var name: [UInt8] { name(attributes | kTPMA_NV_WRITTEN) }

    /// The name before the index was written.
    var nameBeforeWritten: [UInt8] { name(attributes) }

    /// Whether the index can be one of this kind.
    func isOf(_ kind: TPMBlob.Kind) -> Bool {
        let isPIN = attributes & kTPMA_NV_PIN_FAIL == kTPMA_NV_PIN_FAIL
        return switch kind {
        case .keybag: isPIN
        case .epoch, .generation: !isPIN
        case .escrow, .privateKey, .mark: false
        }
    }

    /// Both names.
    var names: [[UInt8]] { [name, nameBeforeWritten] }

    private func name(_ attributes: TPMA_NV) -> [UInt8] {
        let area =
            handle.bigEndianOctets + kTPM2_ALG_SHA256.bigEndianOctets + attributes.bigEndianOctets
            + UInt16(policy.count).bigEndianOctets + policy + Self.byteCount.bigEndianOctets
        return kTPM2_ALG_SHA256.bigEndianOctets + SHA256.digest(of: area)
    }
}

extension TPMConnection {
    /// Defines an index (`TPM2_NV_DefineSpace`) with an authorisation value, which may be empty.
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

    /// The ESYS handle of an index, once the TPM's index is known to have this definition.
    ///
    /// - Throws: ``TPMError/missingIndex`` if there is none, if it is a different one, or if it was never written.
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

    /// Whether the chip has an index that has this definition and was never written.
    func holds(_ index: NVIndex) throws(TPMError) -> Bool {
        do throws(TPMError) {
            return try name(of: try known(index)) == index.nameBeforeWritten
        } catch {
            guard error == .missingIndex else { throw error }
            return false
        }
    }

    /// Runs commands on an index; its cached handle is dropped if the index was deleted meanwhile.
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

    /// Deletes an index with owner authorisation, if it still has one of these names.
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

    /// The indices that carry a label, among those in the handle range that the driver uses.
    func indices(with label: KeychainLabel) throws(TPMError) -> [NVIndex] {
        var found: [NVIndex] = []
        for handle in try handles(from: NVIndex.handles.lowerBound) where NVIndex.handles.contains(handle) {
            if let index = try index(at: handle, with: label) { found.append(index) }
        }
        return found
    }

    /// Deletes an index, unless it is gone already or another one has its handle.
    func remove(_ index: NVIndex) throws(TPMError) {
        // Another program may have made a different one there since it was last read.
        forget(index)
        do throws(TPMError) {
            try undefine(index, named: index.names)
        } catch {
            guard error == .missingIndex else { throw error }
        }
    }

    private func index(at handle: TPM2_HANDLE, with label: KeychainLabel) throws(TPMError) -> NVIndex? {
        let candidates = NVIndex.all(handle, label)
        let name: [UInt8]
        do throws(TPMError) {
            name = try self.name(of: try known(candidates[0]))
        } catch {
            // Removed meanwhile.
            guard error == .missingIndex else { throw error }
            return nil
        }
        if let index = candidates.first(where: { $0.names.contains(name) }) { return index }
        forget(candidates[0])
        return nil
    }

    /// The ESYS handle of whatever index exists at this handle.
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
