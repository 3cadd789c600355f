internal import KeychainModel

/// The record of the set in the file: the tags of the rows in groups, and the sealed digest over them.
extension ItemStore {
    /// The sealed digest comes after all groups, on the page of the last one: adding an item changes one page for both.
    private static let digestRow = Int64.max

    /// Runs `body` in a transaction that records the tags which it changed; false takes all of it back.
    func changeSet(_ context: ItemContext, _ body: () throws -> Bool) throws(KeychainError) {
        let former = itemSet.digest
        var written: [(number: Int64, contribution: SIMD4<UInt64>?)] = []
        var isWritten = false
        var isDone = false
        defer {
            if isDone {
                for group in written { itemSet.tags.setContribution(group.contribution, of: group.number) }
                itemSet.tags.keep()
            } else {
                itemSet.tags.rollBack()
                itemSet.digest = former
            }
        }
        try database.transaction {
            guard try body() else { return false }
            written = try writeSet(with: context.setRecord, context.itemSet, storeID: context.storeID)
            isWritten = true
            return true
        }
        isDone = isWritten
    }

    /// Writes the groups that changed, and the digest; inside a transaction.
    ///
    /// - Returns: what the changed groups contribute now.
    private func writeSet(
        with recordKey: AEADKey,
        _ digestKey: KeyedDigest,
        storeID: [UInt8]
    ) throws -> [(number: Int64, contribution: SIMD4<UInt64>?)] {
        guard var digest = itemSet.digest else { throw KeychainError.damaged }
        var written: [(number: Int64, contribution: SIMD4<UInt64>?)] = []
        for number in itemSet.tags.changedGroups {
            if let former = itemSet.tags.contribution(of: number) { digest.remove(former) }
            guard let octets = itemSet.tags.encoded(number) else {
                let statement = try database.statement("DELETE FROM item_set WHERE id = ?")
                statement.bind(1, number)
                try statement.run()
                written.append((number, nil))
                continue
            }
            let contribution = unsafe octets.withUnsafeBytes {
                unsafe ItemSetDigest.contribution(group: number, $0, key: digestKey)
            }
            digest.insert(contribution)
            try write(octets, row: number)
            written.append((number, contribution))
        }
        itemSet.digest = digest
        try write(digest.sealed(with: recordKey, storeID: storeID), row: Self.digestRow)
        return written
    }

    private func write(_ octets: [UInt8], row: Int64) throws {
        let statement = try database.statement("INSERT OR REPLACE INTO item_set (id, sealed) VALUES (?, ?)")
        statement.bind(1, row)
        statement.bind(2, octets)
        try statement.run()
    }

    /// Records that there is nothing yet.
    func writeEmptySet(with setKey: Key, storeID: [UInt8], generation: UInt64) throws(KeychainError) {
        var empty = ItemSetDigest()
        empty.generation = generation
        itemSet = ItemSetState(digest: empty)
        let digestKey = KeyedDigest(setKey)
        try database.transaction {
            _ = try writeSet(with: setKey.symmetric, digestKey, storeID: storeID)
            return true
        }
    }

    /// The recorded set; nil when it is not authentic.
    func readSet(_ context: ItemContext) throws(KeychainError) -> ItemSetState? {
        let recordKey = try context.setRecord
        let digestKey = try context.itemSet
        return try ItemDatabase.translatingErrors {
            var tags = ItemTags()
            var found = ItemSetDigest()
            var recorded: ItemSetDigest?
            var isWhole = true
            if let last = try lastGroup() { tags.reserve(last) }
            let statement = try database.statement("SELECT id, sealed FROM item_set ORDER BY id")
            try statement.forEach {
                let number = statement.columns.number(0)
                guard let octets = unsafe statement.columns.octets(1) else {
                    isWhole = false
                    return false
                }
                if number == Self.digestRow {
                    recorded = unsafe ItemSetDigest(
                        opening: Array(octets),
                        with: recordKey,
                        storeID: context.storeID
                    )
                    return true
                }
                let contribution = unsafe ItemSetDigest.contribution(group: number, octets, key: digestKey)
                found.insert(contribution)
                isWhole = unsafe tags.take(octets, number: number, contribution: contribution)
                return isWhole
            }
            guard isWhole, let recorded, recorded.hasItems(of: found) else { return nil }
            return ItemSetState(digest: recorded, tags: tags)
        }
    }

    /// How many groups there may be, at most as many as fit into the file.
    private func lastGroup() throws -> Int? {
        var count: Int?
        let statement = try database.statement("SELECT count(*) FROM item_set")
        try statement.forEach {
            count = Int(statement.columns.number(0))
            return false
        }
        return count
    }
}
