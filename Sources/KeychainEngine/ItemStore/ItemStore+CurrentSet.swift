internal import KeychainModel

/// What becomes of items when the enrolled set that opened them is gone.
extension ItemStore {
    /// Deletes the wraps of items whose enrolled set is gone; their key was destroyed before.
    ///
    /// - Returns: how many items can never be opened again.
    func dropCurrentSetWraps(_ context: ItemContext) throws(KeychainError) -> Int {
        try reopenIfNeeded(context)
        var stale: [(row: Int64, keys: [UInt8]?)] = []
        try ItemDatabase.translatingErrors {
            _ = try ItemRow.forEach(database, after: .min, atMost: .max) { row in
                guard let row, let keys = row.keysWithoutCurrentSet(context) else { return }
                stale.append((row.id, keys))
            }
        }
        try replaceKeys(stale)
        return stale.count { $0.keys == nil }
    }

    /// Gives rows other wraps, or none.
    func replaceKeys(_ changes: [(row: Int64, keys: [UInt8]?)]) throws(KeychainError) {
        guard !changes.isEmpty else { return }
        try database.transaction {
            let statement = try database.statement("UPDATE items SET keys = ? WHERE id = ?")
            for change in changes {
                statement.bind(1, change.keys)
                statement.bind(2, change.row)
                try statement.run()
            }
            return true
        }
        noteDeleted(changes.count)
    }
}
