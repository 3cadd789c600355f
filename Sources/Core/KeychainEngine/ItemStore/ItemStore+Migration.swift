internal import KeychainModel
internal import Primitives

/// Migrates a file of format 1, whose record of the set is a sum over the attributes of each item.
extension ItemStore {
    /// Replaces the record with the present format, all or nothing; a file that does not match its record stays
    /// unchanged.
    ///
    /// - Returns: whether it has the tags of all rows now.
    func migrate(_ context: ItemContext) throws(KeychainError) -> Bool {
        guard let former = try readFormerSet(context) else { return false }
        var found = ItemSetSum()
        var isWhole = true
        itemSet = ItemSetState(digest: ItemSetDigest())
        itemSet.digest?.generation = former.generation
        defer { if database.version == ItemSchema.formerVersion { itemSet = ItemSetState() } }
        try ItemDatabase.translatingErrors {
            _ = try ItemRow.forEach(database, hasData: false, after: .min, atMost: .max) { row in
                guard let row, row.id > 0, let contribution = try? row.formerContribution(context) else {
                    isWhole = false
                    return
                }
                found.insert(contribution)
                itemSet.tags.set(try row.tag(database, context), row: row.id)
            }
        }
        guard isWhole, former.sections[0].sum == found else { return false }
        try changeSet(context) {
            try database.statement("DELETE FROM item_set").run()
            return true
        }
        return true
    }

    private func readFormerSet(_ context: ItemContext) throws(KeychainError) -> ItemSetDigest? {
        let key = context.setRecord
        return try ItemDatabase.translatingErrors {
            var rows: [[UInt8]?] = []
            let statement = try database.statement("SELECT sealed FROM item_set LIMIT 2")
            try statement.forEach {
                rows.append(unsafe statement.columns.octets(0).map { unsafe Array($0) })
                return true
            }
            guard rows.count == 1, let sealed = rows[0] else { return nil }
            return ItemSetDigest(
                opening: sealed,
                with: key,
                storeID: context.storeID,
                version: ItemSchema.formerVersion
            )
        }
    }
}

extension ItemRow {
    /// The row's contribution to the record of format 1: its reference, its generation and its attributes' authentication
    /// tag.
    fileprivate func formerContribution(_ context: ItemContext) throws -> SIMD4<UInt64> {
        try open(in: context) { header in
            guard hasDigests(of: header) else { throw AEAD.NotAuthentic() }
            let key = context.itemSet
            let count = PersistentReference.octetCount + 8 + AEAD.tagByteCount
            return unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { octets in
                unsafe octets.copyMemory(from: reference)
                unsafe octets.storeBytes(
                    of: header.generation.bigEndian,
                    toByteOffset: 16,
                    as: UInt64.self
                )
                let tag = unsafe UnsafeRawBufferPointer(rebasing: attributes.suffix(AEAD.tagByteCount))
                unsafe UnsafeMutableRawBufferPointer(rebasing: octets[24...]).copyMemory(from: tag)
                return unsafe key.words(of: UnsafeRawBufferPointer(octets))
            }
        }
    }
}
