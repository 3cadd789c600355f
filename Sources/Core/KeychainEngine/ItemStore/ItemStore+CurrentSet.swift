internal import KeychainModel

/// Updates items after the enrolled set that they were bound to was replaced.
extension ItemStore {
    /// Deletes the wraps for replaced enrolled sets; their key was destroyed before.
    ///
    /// - Returns: the number of items that can never be opened again.
    func dropCurrentSetWraps(_ context: ItemContext) throws(KeychainError) -> Int {
        try reopenIfNeeded(context)
        try readWholeSet(context)
        var stale: [Rewrapped] = []
        try ItemDatabase.translatingErrors {
            _ = try ItemRow.forEach(database, hasData: false, after: .min, atMost: .max) { row in
                if let row, let change = try rewrapped(row, context) { stale.append(change) }
            }
        }
        try replaceKeys(stale, context)
        return stale.count { $0.keys == nil }
    }

    /// The new wraps of a row.
    struct Rewrapped {
        let row: Int64
        let keys: [UInt8]?
        /// Nil if the row did not match its tag before: new wraps must not make it valid.
        let tag: ItemTag?
    }

    /// The new wraps of a row; nil if nothing changes.
    ///
    /// For rows with all columns.
    func rewrapped(_ row: ItemRow, _ context: ItemContext) throws -> Rewrapped? {
        guard let keys = row.keysWithoutCurrentSet(context) else { return nil }
        let isCurrent = try row.fault(itemSet.tags, database, context) == nil
        let tag = isCurrent ? try row.tag(keys: keys, database, context) : nil
        return Rewrapped(row: row.id, keys: keys, tag: tag)
    }

    /// Replaces or removes the wraps of rows.
    func replaceKeys(_ changes: [Rewrapped], _ context: ItemContext) throws(KeychainError) {
        guard !changes.isEmpty else { return }
        func replace() throws {
            let statement = try database.statement("UPDATE items SET keys = ? WHERE id = ?")
            for change in changes {
                statement.bind(1, change.keys)
                statement.bind(2, change.row)
                try statement.run()
                if let tag = change.tag { itemSet.tags.set(tag, row: change.row) }
            }
        }
        if itemSet.digest == nil {
            try database.transaction {
                try replace()
                return true
            }
        } else {
            try changeSet(context) {
                try replace()
                return true
            }
        }
        noteDeleted(changes.count)
    }
}
