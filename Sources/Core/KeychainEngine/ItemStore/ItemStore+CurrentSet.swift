internal import KeychainModel

/// What becomes of items when the enrolled set that opened them is gone.
extension ItemStore {
    /// Deletes the wraps of items whose enrolled set is gone; their key was destroyed before.
    ///
    /// - Returns: how many items can never be opened again.
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

    /// A row's other wraps.
    struct Rewrapped {
        let row: Int64
        let keys: [UInt8]?
        /// Nil where the row was not what the set says of it before: it does not become so by this.
        let tag: ItemTag?
    }

    /// The wraps that are to take the place of a row's; nil where nothing is to be changed.
    ///
    /// For rows with all columns.
    func rewrapped(_ row: ItemRow, _ context: ItemContext) throws -> Rewrapped? {
        guard let keys = row.keysWithoutCurrentSet(context) else { return nil }
        let isCurrent = try row.fault(itemSet.tags, database, context) == nil
        let tag = isCurrent ? try row.tag(keys: keys, database, context) : nil
        return Rewrapped(row: row.id, keys: keys, tag: tag)
    }

    /// Gives rows other wraps, or none.
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
