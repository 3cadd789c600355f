internal import KeychainModel

/// What becomes of a store whose files were replaced while they are open: by a program that synchronises files, or with
/// their directory.
///
/// Nothing is changed in files that no name leads to; they can still be read. Files that hold the same are gone on with at
/// once (``follow(_:)``), others only after a lock (``SealedItems/takeReplacing()``).
extension ItemStore {
    /// Goes on with the files that took the place of the open ones, if they hold all that was acknowledged and nothing else.
    ///
    /// - Returns: whether it does.
    func follow(_ context: ItemContext) -> Bool {
        guard database.isReplaced, let known = acknowledgedSet ?? itemSet.digest else { return false }
        do throws(KeychainError) {
            if database.files?.isItemsFileInPlace == true {
                // SQLite locks the file of items for one connection, so the log is judged before this one ends. What the mark
                // promises is in the log that has its salts; without a promise all is in the file of items.
                guard database.files?.isMarkInPlace == true else { return false }
                let logged = try ItemDatabase.examine(in: directory).logged
                if logged > 0, try LogMark.read(in: directory) == nil { return false }
                needsReopening = true
                database.shut(keepingLog: true)
                try reopenIfNeeded(context)
                return itemSet.digest == known
            }
            let found = ItemStore(
                directory: directory,
                database: try ItemDatabase(openingIn: directory),
                limits: limits
            )
            guard try found.readDigest(context) == known else {
                found.database.shut(keepingLog: true)
                return false
            }
            database.shut(keepingLog: true)
            database = found.database
            logLength = logByteCount()
            needsReopening = false
            _ = load(context)
            return true
        } catch {
            return false
        }
    }

    /// Writes what the open files hold to a file of its own, before others are used in their place.
    ///
    /// - Returns: its name.
    func saveAside() throws(KeychainError) -> String {
        try directory.makeEmpty(.newItems)
        do throws(KeychainError) {
            try database.write(copyTo: directory.path + "/" + StoreFile.newItems.rawValue, unless: { false })
            try directory.sync(.newItems)
            return try NewItems(in: directory).keepAside()
        } catch {
            try? directory.removeItems(.newItems)
            throw error
        }
    }
}

extension SealedItems {
    /// Goes on with the files that took the place of the open ones, as at a start: the next ``unlock(with:isFirst:counted:)``
    /// reads them and compares them with the hardware's count.
    ///
    /// What the former ones held is saved under another name, if it may be something else. Called at an unlock, so that the
    /// owner decides it.
    /// - Returns: whether other files are open now, among them such that could not be opened before.
    func takeReplacing() -> Bool {
        withState { state in
            if state.isUnread { return true }
            guard let store = state.store else {
                guard state.fault != nil else { return false }
                openAgain(&state)
                state.isUnread = state.store != nil
                return state.isUnread
            }
            guard store.database.isReplaced, !follow(&state) else { return false }
            do throws(KeychainError) {
                _ = try ItemDatabase.examine(in: directory)
                var aside: String?
                if store.itemSet.digest != nil { aside = try store.saveAside() }
                store.database.shut(keepingLog: true)
                state.store = nil
                state.fault = .damaged
                state.countedGeneration = nil
                openAgain(&state)
                state.isUnread = state.store != nil
                state.isReplacementReported = false
                report(
                    .tamperDetected,
                    detail:
                        "items: the files that were put in the place of the open ones are used from now on"
                        + (aside.map { "; the former state is in \($0)" } ?? "")
                )
                return true
            } catch {
                noteDamage(error.status == .decode ? .filesReplaced : error, &state)
                return false
            }
        }
    }

    /// Goes on with files that were replaced by such that hold the same.
    func followFiles() {
        withState { _ = follow(&$0) }
    }

    /// Goes on with files that were replaced by such that hold the same.
    ///
    /// - Returns: whether a change that was refused because of them can be made now.
    func follow(_ state: inout State) -> Bool {
        guard let store = state.store, store.database.isReplaced, let context = try? keys.context(),
            store.follow(context)
        else { return false }
        report(
            .tamperDetected,
            detail:
                "items: the files were replaced while they are open; the new ones hold the same and are used"
        )
        state.isReplacementReported = false
        sweepLater(&state)
        return true
    }
}
