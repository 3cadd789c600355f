internal import KeychainModel
internal import Primitives

/// Writes the valid items to a new file, which takes the place of the damaged one.
extension ItemRepair {
    /// A row of the new file.
    struct Row {
        let id: Int64
        /// nil if the new file has no such row.
        let item: SealedItem?
    }

    /// The most rows that are taken over at once, and the most bytes of their data before no further one is.
    private static let mostRows = 256
    private static let mostBytes = 1 << 20
    /// The most changed rows that are taken over with the exchange of the files: a few milliseconds.
    private static let mostRowsAtLast = 64
    /// How often more than these are taken over, before whoever goes on changing items has to wait.
    private static let mostRounds = 64

    /// Makes the valid items the present state; the former files are kept.
    ///
    /// - Returns: the findings, with the new name of the former file; without, if nothing is wrong any more because others
    ///   deleted what was.
    func replaceItems() throws(KeychainError) -> StoreRepair {
        let new = ItemStore(
            directory: items.directory,
            database: try ItemDatabase(makingIn: items.directory, .newItems),
            limits: items.limits
        )
        self.new = new
        try new.writeEmptySet(
            with: context.keys.itemSet,
            storeID: context.storeID,
            generation: items.withState { generation(counted: $0.countedGeneration) },
            keybag: keybag
        )
        try writeRows(to: new)
        // The last part flushes only what changes from here on.
        try new.database.checkpoint()
        var rounds = 0
        while true {
            var repair: StoreRepair?
            let rows = try items.withState { (state) throws(KeychainError) -> [Row] in
                try check(state)
                guard changed.count <= Self.mostRowsAtLast || rounds == Self.mostRounds else {
                    return try takeChanged()
                }
                repair = try finish(new, &state)
                return []
            }
            if let repair { return repair }
            try new.take(rows, context)
            rounds += 1
            items.giveWay()
        }
    }

    /// The generation that the items have, or have to have if their own is lost.
    private func generation(counted known: UInt64?) -> UInt64 {
        let own = (isOpen ? live?.itemSet.generation : nil) ?? salvage?.store.itemSet.generation
        return (counted.isAdopting ? nil : own) ?? known ?? counted.generation ?? 0
    }

    private func writeRows(to new: ItemStore) throws(KeychainError) {
        let progress = WorkProgress.current
        let good = findings.good.sorted()
        var place = 0
        while place < good.count {
            let start = place
            let rows: [Row]
            if let salvage {
                try checkKeys()
                rows = try nextRows(good, &place, of: salvage.store)
            } else {
                rows = try items.withState { (state) throws(KeychainError) in
                    try check(state)
                    guard let live else { throw .damaged }
                    return try nextRows(good, &place, of: live)
                }
            }
            try new.take(rows, context)
            for number in start..<place { progress?.note(good.count + number, of: 2 * good.count) }
            if salvage == nil { items.giveWay() }
        }
    }

    /// Reads the next of the rows.
    private func nextRows(
        _ good: [Int64],
        _ place: inout Int,
        of store: ItemStore
    ) throws(KeychainError) -> [Row] {
        let slice = WorkSlice()
        var rows: [Row] = []
        var byteCount = 0
        repeat {
            let id = good[place]
            // Changed ones follow as they are in the end. Those of the pages are what they were.
            if salvage != nil || !changed.contains(id) {
                let item = try store.sealedAgain(id, context)
                byteCount += item?.data?.count ?? 0
                rows.append(Row(id: id, item: item))
            }
            place += 1
        } while place < good.count && rows.count < Self.mostRows && byteCount < Self.mostBytes && slice.goesOn
        return rows
    }

    /// Examines changed rows as they are now in the open store, and takes them over.
    private func takeChanged(atMost count: Int = mostRows) throws(KeychainError) -> [Row] {
        guard let live else { return [] }
        let slice = WorkSlice()
        var rows: [Row] = []
        while rows.count < count, count > Self.mostRows || slice.goesOn, let id = changed.popFirst() {
            findings.forget(id)
            var (isFound, isGood) = (false, false)
            do throws(KeychainError) {
                try ItemDatabase.translatingErrors {
                    _ = try ItemRow.forEach(live.database, hasData: false, after: id - 1, atMost: 1) { row in
                        guard let row, row.id == id else { return }
                        isFound = true
                        isGood = try findings.examine(row, in: live, context)
                    }
                }
            } catch {
                guard error.status == .decode else { throw error }
            }
            if !isFound, live.itemSet.tags[id] != nil { findings.noteMissing(id) }
            rows.append(Row(id: id, item: isGood ? try live.sealedAgain(id, context) : nil))
        }
        return rows
    }

    /// Takes over the last changes and switches to the new file.
    private func finish(
        _ new: ItemStore,
        _ state: inout SealedItems.State
    ) throws(KeychainError) -> StoreRepair {
        try new.take(try takeChanged(atMost: .max), context)
        var repair = report
        guard !repair.isWell else { return repair }
        try new.set(generation: generation(counted: state.countedGeneration), keybag: keybag, context)
        try new.database.checkpoint()
        new.database.shut()
        try items.directory.sync(.newItems)
        try items.directory.sync()
        // From here on an interruption is continued at the next start.
        self.new = nil
        repair.keptAside = try items.replaceItems(&state, context)
        return repair
    }
}

extension SealedItems {
    /// Switches to the new file; the former files are kept.
    ///
    /// - Returns: the new name of the former file.
    fileprivate func replaceItems(
        _ state: inout State,
        _ context: ItemContext
    ) throws(KeychainError) -> String {
        state.sweep?.cancel()
        state.sweep = nil
        let former = state.store
        former?.database.shut(keepingLog: true)
        state.store = nil
        state.fault = .damaged
        let aside = try NewItems(in: directory).replaceItems()
        let fresh = try ItemStore(directory: directory, limits: limits)
        // Items may be sealed already for rows that the former numbers assigned.
        if let former { fresh.rows = former.rows }
        let isWell = fresh.load(context)
        state.store = fresh
        state.fault = nil
        state.isTamperingReported = !isWell
        sweepLater(&state)
        return aside
    }
}

extension ItemStore {
    /// Puts rows in the place of those with the same numbers, or removes these.
    fileprivate func take(_ rows: [ItemRepair.Row], _ context: ItemContext) throws(KeychainError) {
        guard !rows.isEmpty else { return }
        try changeSet(context) {
            for row in rows {
                if itemSet.tags[row.id] != nil {
                    let statement = try database.statement("DELETE FROM items WHERE id = ?")
                    statement.bind(1, row.id)
                    try statement.run()
                    itemSet.tags.set(nil, row: row.id)
                }
                if let item = row.item { try insert(item, context) }
            }
            return true
        }
    }

    /// A row unchanged, with the look-up digests from its sealed header; nil if there is none.
    fileprivate func sealedAgain(_ id: Int64, _ context: ItemContext) throws(KeychainError) -> SealedItem? {
        try ItemDatabase.translatingErrors {
            var item: SealedItem?
            try ItemRow.forRow(id, database) { item = try $0.sealedAgain(context) }
            return item
        }
    }
}

extension ItemRow {
    fileprivate func sealedAgain(_ context: ItemContext) throws -> SealedItem {
        try open(in: context) { header in
            SealedItem(
                row: id,
                reference: unsafe Array(reference),
                digests: LookupDigests(octets: unsafe Array(header.digests)),
                generation: header.generation,
                attributes: unsafe Array(attributes),
                keys: unsafe keys.map { unsafe Array($0) },
                data: unsafe data.map { unsafe Array($0) },
                map: []
            )
        }
    }
}
