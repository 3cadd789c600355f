internal import KeychainModel

/// A repair under way, on one thread, while others use the items.
///
/// Where SQLite reads all of the open store, its rows are examined part by part. Otherwise the rows are looked for on the
/// pages of the files as they are at one moment, without keeping the items from others: until the end, SQLite changes
/// nothing but the log. Rows that others change are examined again and taken over at last (``replaceItems()``).
final class ItemRepair {
    let items: SealedItems
    let context: ItemContext
    let counted: SealedItems.HardwareCount
    /// The revision of the open keybag.
    let keybag: UInt64
    var findings = RepairFindings()
    /// The rows that others changed since the examined state; used while this thread has the items' state.
    var changed: Set<Int64> = []
    /// The open store; nil if none could be opened.
    let live: ItemStore?
    /// What was found on the pages; nil if the open store is examined itself.
    private(set) var salvage: ItemSalvage?
    /// The store that the items are written to, until it takes the place of the former one.
    var new: ItemStore?

    /// Whether ``live`` can be used.
    let isOpen: Bool
    /// Its connection.
    private let database: ItemDatabase?
    /// Whether ``live`` has the record of its set; nil while that is read.
    private var hasSet: Bool?
    /// Whether the file is held (``ItemDatabase/isHeld``).
    private var isHolding = false
    /// Whether nothing but the log is damaged, as far as is known without examining the items.
    private var isLogAlone = false
    private var parts = 1
    private var structure = StructureCheck()
    /// The last row of ``live`` that was examined.
    private var row = Int64.min

    /// Begins a repair with the keys of `context`.
    init(
        of items: SealedItems,
        _ context: ItemContext,
        _ counted: SealedItems.HardwareCount,
        keybag: UInt64
    ) throws(KeychainError) {
        (live, isOpen) = try items.withState { (state) throws(KeychainError) -> (ItemStore?, Bool) in
            guard let store = state.store else {
                if let fault = state.fault, fault.status != .decode { throw fault }
                state.isRepairing = true
                return (nil, false)
            }
            do throws(KeychainError) {
                try store.reopenIfNeeded(context)
            } catch {
                guard error.status == .decode else { throw error }
            }
            state.isRepairing = true
            return (store, !store.needsReopening)
        }
        database = live?.database
        (self.items, self.context, self.counted, self.keybag) = (items, context, counted, keybag)
    }

    /// Ends the repair; what is unfinished is removed.
    func end() {
        salvage?.discard()
        // With it its descriptor of the file, before that is opened again.
        salvage = nil
        if let new {
            new.database.shut()
            try? items.directory.removeItems(.newItems)
        }
        items.withState { state in
            live?.didChange = nil
            database?.isHeld = false
            if isHolding, let live, state.store === live, live.database === database {
                // The pages were read through a descriptor of their own, whose end took SQLite's locks of the file.
                live.database.shut(keepingLog: true)
                live.needsReopening = true
            }
            state.isRepairing = false
            items.purgeLater(&state)
        }
    }

    // MARK: What may end it

    /// Refuses to go on after a lock: then no key that it took may stay in memory.
    func checkKeys() throws(KeychainError) {
        let present = try items.keys.context()
        guard present !== context else { return }
        let isUnlocked = KeybagKeyName.classKeys.allSatisfy { name in
            context.keys[name] == nil || present.keys[name] != nil
        }
        guard isUnlocked else { throw .locked }
    }

    /// Refuses to go on after a lock, or if the examined store is not the one in use any more.
    func check(_ state: borrowing SealedItems.State) throws(KeychainError) {
        try checkKeys()
        guard state.store === live, live?.database === database, live?.needsReopening ?? true != isOpen,
            hasSet == nil || hasSet == (live?.itemSet.digest != nil),
            !isHolding || database?.isHeld ?? true
        else { throw KeychainError(.notAvailable, cause: .interrupted, remedy: .retry) }
    }

    /// Refuses items that are an older copy, or belong to a later keybag.
    private func checkAge(of digest: ItemSetDigest?, counted generation: UInt64?) throws(KeychainError) {
        guard let digest else { return }
        if let generation, !counted.isAdopting,
            digest.generation != generation, digest.generation != generation &+ 1
        {
            throw KeychainError(.decode, cause: .rolledBack, remedy: .recover)
        }
        // Items that could not be read at the unlock were not compared with the keybag then.
        if digest.keybag > keybag { throw KeychainError(.decode, cause: .olderKeybag, remedy: .recover) }
    }

    // MARK: Findings

    /// Examines all items: the first of `parts` parts of the work.
    func examine(parts: Int) throws(KeychainError) {
        self.parts = parts
        items.withState { _ in
            live?.forgetStructure()
            live?.didChange = { [weak self] rows in self?.changed.formUnion(rows) }
        }
        let isRead = try items.inSlices { (state) throws(KeychainError) in try examineOpenStore(state) }
        if !isRead { try examinePages() }
    }

    /// What was found so far.
    var report: StoreRepair {
        var repair = findings.report
        guard let salvage else { return repair }
        repair.isRecordDamaged = salvage.store.itemSet.digest == nil
        repair.isLogDamaged = salvage.isLogDamaged
        repair.isLogSaved = salvage.isLogDamaged && repair.isComplete
        repair.isFileDamaged = !isLogAlone
        return repair
    }

    /// Examines the next rows of the open store.
    ///
    /// - Returns: nil while there are more; at the end, whether SQLite reads all of them, and the record of the set, by itself
    ///   and through each index.
    private func examineOpenStore(_ state: borrowing SealedItems.State) throws(KeychainError) -> Bool? {
        try check(state)
        guard let live, isOpen else { return false }
        do throws(KeychainError) {
            guard live.itemSet.isWhole else {
                try live.readNextSection(context)
                return nil
            }
            guard live.itemSet.digest != nil else { return false }
            hasSet = true
            try checkAge(of: live.itemSet.digest, counted: state.countedGeneration ?? counted.generation)
            guard structure.isDone else {
                try structure.run(on: live) { [items] in items.isAwaited }
                return structure.faults?.isEmpty == false ? false : nil
            }
            if let last = try examineRows(of: live, while: WorkSlice()) {
                row = last
                return nil
            }
            findings.noteMissing(of: live.itemSet.tags)
            // Without SQLite's check, a page that lost rows looks as if there were none.
            return structure.faults != nil || findings.missing.isEmpty
        } catch {
            guard error.status == .decode, error.remedy != .recover else { throw error }
            return false
        }
    }

    private func examineRows(of live: ItemStore, while slice: WorkSlice) throws(KeychainError) -> Int64? {
        let progress = WorkProgress.current
        let total = parts * live.itemSet.tags.count
        return try ItemDatabase.translatingErrors {
            try ItemRow.forEach(
                live.database,
                hasData: false,
                after: row,
                atMost: .max,
                while: { slice.goesOn }
            ) { found in
                guard let found else { return }
                try findings.examine(found, in: live, context)
                if structure.faults == nil, try !found.isIndexed(in: live.database) {
                    throw KeychainError.damaged
                }
                progress?.note(findings.good.count, of: max(total, 1))
            }
        }
    }

    /// Examines the items that are found on the pages of the files as they are now.
    private func examinePages() throws(KeychainError) {
        var generation: UInt64?
        let files = try items.withState { (state) throws(KeychainError) in
            hasSet = nil
            try check(state)
            hasSet = live?.itemSet.digest != nil
            generation = state.countedGeneration ?? counted.generation
            isLogAlone = live == nil && state.fault?.cause == .logDamaged
            database?.isHeld = true
            isHolding = true
            changed = []
            return try DamagedFiles(in: items.directory)
        }
        findings = RepairFindings()
        let salvage = try ItemSalvage(
            of: files,
            in: items.directory,
            limits: items.limits,
            context,
            goOn: { [unowned self] () throws(KeychainError) in try checkKeys() }
        )
        self.salvage = salvage
        try checkAge(of: salvage.lastDigest ?? salvage.store.itemSet.digest, counted: generation)
        try salvage.store.readWholeSetIfSound(context)
        let progress = WorkProgress.current
        let total = parts * salvage.store.itemSet.tags.count
        var row: Int64? = .min
        while let last = row {
            try checkKeys()
            row = try ItemDatabase.translatingErrors {
                try ItemRow.forEach(salvage.store.database, hasData: false, after: last, atMost: 256) {
                    found in
                    guard let found else { return }
                    try findings.examine(found, in: salvage.store, context)
                    progress?.note(findings.good.count, of: max(total, findings.good.count))
                }
            }
        }
        findings.noteMissing(of: salvage.store.itemSet.tags)
    }
}
