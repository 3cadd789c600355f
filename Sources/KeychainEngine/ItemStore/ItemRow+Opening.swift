internal import Foundation
internal import KeychainModel
internal import SecretMemory

extension ItemRow {
    /// What the row contributes to the set's digest.
    func contribution(generation: UInt64, _ context: ItemContext) throws(KeychainError) -> SIMD4<UInt64> {
        let key = try context.itemSet
        return unsafe ItemSetDigest.contribution(
            reference: reference,
            generation: generation,
            attributes: attributes,
            key: key
        )
    }

    /// Opens the item's data; nil when it has none.
    func openData(
        _ header: OpenedHeader,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        _ context: ItemContext
    ) throws(KeychainError) -> SecretBytes? {
        guard let data = try SealedData(self, header, control, proofs, password, context) else { return nil }
        return try unsafe SecretBytes(octetCount: data.byteCount) { (octets) throws(KeychainError) in
            try unsafe data.open(into: UnsafeMutableRawBufferPointer(rebasing: octets[..<data.byteCount]))
        }
    }

    /// Opens the item's data into a page; the item has some.
    func appendData(
        to page: ItemPage,
        _ header: OpenedHeader,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        _ context: ItemContext
    ) throws(KeychainError) {
        guard let data = try SealedData(self, header, control, proofs, password, context) else { return }
        try unsafe page.appendData(count: data.byteCount) { (octets) throws(KeychainError) in
            try unsafe data.open(into: octets)
        }
    }

    /// The wraps that are to take the place of the row's, because the enrolled set that opened some of them is
    /// gone; nil where nothing is to be changed.
    func keysWithoutCurrentSet(_ context: ItemContext) -> Data?? {
        guard let keys = unsafe keys else { return nil }
        let isStale = try? open(in: context) { $0.epoch != 0 && $0.epoch != context.epoch }
        guard isStale == true else { return nil }
        let old = unsafe Data(keys)
        let new = ItemKeyWrap.withoutCurrentSet(old)
        return new == old ? nil : .some(new)
    }
}

/// An item's data in its row, and the key that opens them.
@safe
private struct SealedData {
    private let sealed: UnsafeRawBufferPointer
    private let key: AEADKey
    private let row: ItemRow
    private let header: UnsafeRawBufferPointer
    private let context: ItemContext
    let byteCount: Int

    /// Opens the item's key; nil when the item has no data.
    init?(
        _ row: ItemRow,
        _ header: OpenedHeader,
        _ control: AccessControl,
        _ proofs: [AuthenticationProof],
        _ password: Key?,
        _ context: ItemContext
    ) throws(KeychainError) {
        guard let data = unsafe row.data else { return nil }
        guard let wraps = unsafe row.keys, let count = unsafe try? AEAD.plaintextByteCount(of: data) else {
            throw .damaged
        }
        let binding = unsafe header.header
        key = try unsafe context.withBinding(of: .key, row.reference, binding) {
            (binding) throws(KeychainError) in
            guard unsafe !ItemKeyWrap.isDirect(wraps) else {
                let classKey = try context.classKey(control.accessibility)
                return try unsafe ItemKeyWrap.openDirect(wraps, with: classKey, authenticating: binding)
                    .symmetric
            }
            return try unsafe ItemKeyWrap.open(
                Data(wraps),
                control: control,
                keys: context.keys,
                proofs: proofs,
                password: password,
                authenticating: Array(binding)
            ).symmetric
        }
        unsafe sealed = data
        self.row = row
        unsafe self.header = binding
        self.context = context
        byteCount = count
    }

    /// Writes the data, which are as long as ``byteCount``.
    func open(into octets: UnsafeMutableRawBufferPointer) throws(KeychainError) {
        do {
            try unsafe context.withBinding(of: .data, row.reference, header) { binding in
                try unsafe AEAD.open(sealed, with: key, authenticating: binding, into: octets)
            }
        } catch {
            throw .damaged
        }
    }
}
