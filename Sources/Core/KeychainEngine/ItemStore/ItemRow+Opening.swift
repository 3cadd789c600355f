internal import KeychainModel
internal import Primitives
internal import SecretMemory

extension ItemRow {
    /// Opens the item's data; nil if it has none.
    func openData(
        _ header: OpenedHeader,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        _ context: ItemContext
    ) throws(KeychainError) -> SecretBytes? {
        guard unsafe data != nil else { return nil }
        var key = AEADKeyPlace()
        try takeKey(into: &key, header, control, proofs: proofs, password: password, context)
        return try openData(header, with: key, context)
    }

    /// Opens the item's data with its own key; nil if it has none.
    func openData(
        _ header: OpenedHeader,
        with key: borrowing AEADKeyPlace,
        _ context: ItemContext
    ) throws(KeychainError) -> SecretBytes? {
        guard let data = unsafe data else { return nil }
        let count = try unsafe Self.byteCount(of: data)
        return try unsafe SecretBytes(octetCount: count) { (octets) throws(KeychainError) in
            let octets = unsafe UnsafeMutableRawBufferPointer(rebasing: octets[..<count])
            try unsafe open(data, header, with: key, into: octets, context)
        }
    }

    /// Opens the item's data, if any, into a page; `key` receives the item's own key.
    func appendData(
        to page: inout ItemPage,
        _ header: OpenedHeader,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        key: inout AEADKeyPlace,
        _ context: ItemContext
    ) throws(KeychainError) {
        guard let data = unsafe data else { return }
        let count = try unsafe Self.byteCount(of: data)
        try takeKey(into: &key, header, control, proofs: proofs, password: password, context)
        try unsafe page.appendData(count: count) { (octets) throws(KeychainError) in
            try unsafe open(data, header, with: key, into: octets, context)
        }
    }

    private static func byteCount(of data: UnsafeRawBufferPointer) throws(KeychainError) -> Int {
        do throws(AEAD.NotAuthentic) {
            return try unsafe AEAD.plaintextByteCount(of: data)
        } catch {
            throw .damaged
        }
    }

    /// Unwraps the item's own key.
    func takeKey(
        into place: inout AEADKeyPlace,
        _ header: OpenedHeader,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        _ context: ItemContext
    ) throws(KeychainError) {
        guard let wraps = unsafe keys else { throw .damaged }
        try unsafe context.withBinding(of: .key, reference, header.header) {
            (binding) throws(KeychainError) in
            guard unsafe !ItemKeyWrap.isDirect(wraps) else {
                let classKey = try context.classKey(control.accessibility)
                return try unsafe ItemKeyWrap.openDirect(
                    wraps,
                    into: &place,
                    with: classKey,
                    authenticating: binding
                )
            }
            place.take(
                try unsafe ItemKeyWrap.open(
                    Array(wraps),
                    control: control,
                    keys: context.keys,
                    proofs: proofs,
                    password: password,
                    authenticating: Array(binding)
                )
            )
        }
    }

    private func open(
        _ data: UnsafeRawBufferPointer,
        _ header: OpenedHeader,
        with key: borrowing AEADKeyPlace,
        into octets: UnsafeMutableRawBufferPointer,
        _ context: ItemContext
    ) throws(KeychainError) {
        do throws(AEAD.NotAuthentic) {
            try unsafe context.withBinding(of: .data, reference, header.header) {
                (binding) throws(AEAD.NotAuthentic) in
                try unsafe key.open(data, authenticating: binding, into: octets)
            }
        } catch {
            throw .damaged
        }
    }

    /// The new wraps of the row, if some of its wraps are for a replaced enrolled set; nil if nothing changes.
    func keysWithoutCurrentSet(_ context: ItemContext) -> [UInt8]?? {
        guard let keys = unsafe keys else { return nil }
        let isStale = try? open(in: context) { $0.epoch != 0 && $0.epoch != context.epoch }
        guard isStale == true else { return nil }
        let old = unsafe Array(keys)
        let new = ItemKeyWrap.withoutCurrentSet(old)
        return new == old ? nil : .some(new)
    }
}
