internal import KeychainModel
internal import Primitives

/// The record of the set in the file: the tags of the rows in groups, and the sealed digest over them.
extension ItemStore {
    /// The sealed digest follows all groups, on the page of the last one: adding an item changes one page for both.
    static let digestRow = Int64.max

    /// Runs `body` in a transaction and records the tags it changed; rolls back if it returns false.
    ///
    /// Tags may change only after all of them were read (``readWholeSet(_:)``).
    func changeSet(_ context: ItemContext, _ body: () throws -> Bool) throws(KeychainError) {
        let former = itemSet.digest
        var written = WrittenSet()
        var isWritten = false
        var isDone = false
        defer {
            if isDone {
                for group in written.groups {
                    itemSet.tags.setContribution(group.contribution, of: group.number)
                }
                didChange?(itemSet.tags.changedRows)
                itemSet.tags.keep()
                database.hasSet(version: written.version)
            } else {
                itemSet.tags.rollBack()
                itemSet.digest = former
            }
        }
        // Before: then nothing changes. And after: a change is acknowledged only if a name leads to it.
        try database.checkPlace()
        try database.transaction {
            guard try body() else { return false }
            written = try writeSet(with: context.setRecord, context.itemSet, storeID: context.storeID)
            isWritten = true
            return true
        }
        isDone = isWritten
        guard isWritten, database.isReplaced else { return }
        acknowledgedSet = former
        throw KeychainError.filesReplaced
    }

    /// The changes that a transaction recorded.
    private struct WrittenSet {
        /// The new contributions of the changed groups; nil for removed groups.
        var groups: [(number: Int64, contribution: SIMD4<UInt64>?)] = []
        /// The file format.
        var version = 0
    }

    /// Writes the changed groups and the digest; inside a transaction.
    private func writeSet(
        with recordKey: AEADKey,
        _ digestKey: KeyedDigest,
        storeID: [UInt8]
    ) throws -> WrittenSet {
        guard var digest = itemSet.digest else { throw KeychainError.damaged }
        var written = WrittenSet()
        let changed = itemSet.tags.changedGroups
        guard changed.isEmpty || itemSet.isWhole else { throw KeychainError(.internalComponent) }
        for number in changed {
            if let former = itemSet.tags.contribution(of: number) { digest.remove(former, group: number) }
            guard let octets = itemSet.tags.encoded(number) else {
                let statement = try database.statement("DELETE FROM item_set WHERE id = ?")
                statement.bind(1, number)
                try statement.run()
                written.groups.append((number, nil))
                continue
            }
            let contribution = unsafe octets.withUnsafeBytes {
                unsafe ItemSetDigest.contribution(group: number, $0, key: digestKey)
            }
            digest.insert(contribution, group: number)
            try write(octets, row: number)
            written.groups.append((number, contribution))
        }
        if itemSet.isWhole {
            digest.balance(most: limits.groupsInSection) { range in
                var found = itemSet.tags.contributions(in: range)
                for group in written.groups where range.contains(group.number) {
                    found[group.number] = group.contribution
                }
                return found.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
            }
        }
        written.version = ItemSchema.version
        if written.version != database.version { try database.set(version: written.version) }
        itemSet.digest = digest
        let sealed = digest.sealed(with: recordKey, storeID: storeID, version: written.version)
        try write(sealed, row: Self.digestRow)
        return written
    }

    /// Writes a group of tags or the digest.
    func write(_ octets: [UInt8], row: Int64) throws {
        let statement = try database.statement("INSERT OR REPLACE INTO item_set (id, sealed) VALUES (?, ?)")
        statement.bind(1, row)
        statement.bind(2, octets)
        try statement.run()
    }

    /// Records an empty set.
    func writeEmptySet(
        with setKey: Key,
        storeID: [UInt8],
        generation: UInt64,
        keybag: UInt64
    ) throws(KeychainError) {
        var empty = ItemSetDigest()
        empty.generation = generation
        empty.keybag = keybag
        itemSet = ItemSetState(digest: empty)
        let digestKey = KeyedDigest(setKey)
        try database.transaction {
            _ = try writeSet(with: setKey.symmetric, digestKey, storeID: storeID)
            return true
        }
    }

    /// The recorded digest; nil if it is not authentic.
    func readDigest(_ context: ItemContext) throws(KeychainError) -> ItemSetDigest? {
        try readDigest(with: context.setRecord, storeID: context.storeID)
    }

    /// The recorded digest; nil if it is not authentic for a key.
    func readDigest(with key: AEADKey, storeID: [UInt8]) throws(KeychainError) -> ItemSetDigest? {
        try ItemDatabase.translatingErrors {
            var recorded: ItemSetDigest?
            let statement = try database.statement("SELECT sealed FROM item_set WHERE id = ?")
            statement.bind(1, Self.digestRow)
            try statement.forEach {
                recorded = unsafe statement.columns.octets(0).flatMap {
                    ItemSetDigest(
                        opening: unsafe Array($0),
                        with: key,
                        storeID: storeID,
                        version: database.version
                    )
                }
                return false
            }
            return recorded
        }
    }

    /// Whether a section of the file's record is whole and equals the set in memory, which was read.
    func isSectionRecorded(_ place: Int, _ context: ItemContext) throws(KeychainError) -> Bool {
        guard let digest = try readDigest(context), digest == itemSet.digest else { return false }
        return try ItemDatabase.translatingErrors {
            // Others may have made them fewer.
            guard place < digest.sections.count else { return true }
            return try unsafe isWhole(place, of: digest, context) { _, _, _ in true }
        }
    }

    /// Reads the tags of one section.
    ///
    /// - Returns: whether they match the digest; tags that do not match are then among `tags` as well.
    func readSection(
        _ place: Int,
        of digest: ItemSetDigest,
        into tags: inout ItemTags,
        _ context: ItemContext
    ) throws -> Bool {
        try unsafe isWhole(place, of: digest, context) { number, octets, contribution in
            unsafe tags.take(octets, number: number, contribution: contribution)
        }
    }

    /// Lends each group of a section to `take`, until that returns false.
    ///
    /// - Returns: whether all were taken and match the digest.
    private func isWhole(
        _ place: Int,
        of digest: ItemSetDigest,
        _ context: ItemContext,
        _ take: (_ number: Int64, _ octets: UnsafeRawBufferPointer, _ contribution: SIMD4<UInt64>) -> Bool
    ) throws -> Bool {
        let key = context.itemSet
        let groups = digest.groups(ofSection: place)
        let wanted = digest.sections[place].sum
        var found = ItemSetSum()
        var isWhole = true
        let statement = try database.statement(
            "SELECT id, sealed FROM item_set WHERE id >= ? AND id < ? ORDER BY id"
        )
        statement.bind(1, groups.lowerBound)
        statement.bind(2, groups.upperBound)
        try statement.forEach {
            let number = statement.columns.number(0)
            guard found.count < wanted.count, let octets = unsafe statement.columns.octets(1) else {
                isWhole = false
                return false
            }
            let contribution = unsafe ItemSetDigest.contribution(group: number, octets, key: key)
            found.insert(contribution)
            isWhole = unsafe take(number, octets, contribution)
            return isWhole
        }
        return isWhole && found == wanted
    }
}
