internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Repairs the items after damage or tampering: keeps what is valid, once the user, with the passcode, accepts it as the
/// present state (``Keybag/repair(proof:accepting:)``).
extension SealedItems {
    /// What the hardware counted, as far as a repair is concerned.
    struct HardwareCount {
        /// The generation; nil without hardware.
        var generation: UInt64?
        /// Whether the items are accepted whatever their generation.
        var isAdopting: Bool
    }

    /// The hardware's count, if it was asked since the start.
    ///
    /// - Throws: ``KeychainError`` if the items are an older copy, which only the recovery code can accept.
    func knownGeneration() throws(KeychainError) -> UInt64? {
        try withState { (state) throws(KeychainError) in
            if let fault = state.fault, fault.cause == .rolledBack { throw fault }
            return state.countedGeneration
        }
    }

    /// Looks for damaged and outdated items; with `accepting`, makes the valid ones the present state.
    ///
    /// `keybag` is the revision of the open keybag.
    func repair(
        _ counted: HardwareCount,
        keybag: UInt64,
        accepting: Bool
    ) throws(KeychainError) -> StoreRepair {
        try withState { (state) throws(KeychainError) in
            let context = try keys.context()
            let source = try repairSource(&state, context)
            defer { source.salvage?.discard() }
            if let generation = counted.generation, !counted.isAdopting,
                let own = source.digest?.generation, own != generation, own != generation &+ 1
            {
                throw KeychainError(.decode, cause: .rolledBack, remedy: .recover)
            }
            // Items that could not be read at the unlock were not compared with the keybag then.
            if let known = source.digest?.keybag, known > keybag {
                throw KeychainError(.decode, cause: .olderKeybag, remedy: .recover)
            }
            var (repair, good) = try source.store.findings(context, parts: accepting ? 2 : 1)
            if let salvage = source.salvage {
                repair.isLogDamaged = salvage.isLogDamaged
                repair.isLogSaved = salvage.isLogDamaged && repair.isComplete
                repair.isFileDamaged = repair.isFileDamaged || !source.isFileWhole
            }
            guard accepting, !repair.isWell else { return repair }
            let generation =
                (counted.isAdopting ? nil : source.store.itemSet.generation) ?? counted.generation ?? 0
            try source.store.write(good, generation: generation, keybag: keybag, context)
            repair.keptAside = try replaceItems(&state, context)
            return repair
        }
    }

    /// What a repair examines.
    private struct RepairSource {
        let store: ItemStore
        /// The rows that were looked for on all pages; nil if SQLite reads them to their end.
        var salvage: ItemSalvage?
        /// Whether nothing but the log is damaged, as far as is known before the items are examined.
        var isFileWhole = true

        /// The last record of the set that is left, which the hardware's count and the keybag are compared with.
        var digest: ItemSetDigest? { salvage?.lastDigest ?? store.itemSet.digest }
    }

    private func repairSource(
        _ state: inout State,
        _ context: ItemContext
    ) throws(KeychainError) -> RepairSource {
        if let store = state.store {
            if try store.isStructureWhole(context) { return RepairSource(store: store) }
            store.database.shut(keepingLog: true)
            store.needsReopening = true
        } else if let fault = state.fault, fault.status != .decode {
            throw fault
        }
        let salvage = try ItemSalvage(in: directory, limits: limits, context)
        return RepairSource(
            store: salvage.store,
            salvage: salvage,
            isFileWhole: state.store == nil && state.fault?.cause == .logDamaged
        )
    }

    /// Switches to the new file; the former files are kept.
    ///
    /// - Returns: the new name of the former file.
    private func replaceItems(
        _ state: inout State,
        _ context: ItemContext
    ) throws(KeychainError) -> String {
        state.sweep?.cancel()
        state.sweep = nil
        // It assigns the rows of the former file.
        sealing.withLock { $0 = nil }
        state.store?.database.shut(keepingLog: true)
        state.store = nil
        state.fault = .damaged
        let aside = try NewItems(in: directory).replaceItems()
        let fresh = try ItemStore(directory: directory, limits: limits)
        let isWell = fresh.load(context)
        state.store = fresh
        state.fault = nil
        state.isTamperingReported = !isWell
        sweepLater(&state)
        return aside
    }
}

extension ItemStore {
    /// Whether SQLite reads all rows and the record of the set, by itself and through each index.
    fileprivate func isStructureWhole(_ context: ItemContext) throws(KeychainError) -> Bool {
        do throws(KeychainError) {
            try reopenIfNeeded(context)
            forgetStructure()
            try readWholeSetIfSound(context)
            guard itemSet.digest != nil else { return false }
            return try structureFaults().isEmpty
        } catch {
            guard error.status == .decode else { throw error }
            return false
        }
    }

    /// Examines each row and each tag without a row: the first of `parts` parts of the work.
    ///
    /// - Returns: the findings, and the numbers of the valid rows.
    fileprivate func findings(
        _ context: ItemContext,
        parts: Int
    ) throws(KeychainError) -> (StoreRepair, [Int64]) {
        let progress = WorkProgress.current
        var repair = StoreRepair()
        try readWholeSetIfSound(context)
        repair.isRecordDamaged = itemSet.digest == nil
        var good: [Int64] = []
        var seen: Set<Int64> = []
        func look(_ row: ItemRow?) throws {
            guard let row, seen.insert(row.id).inserted else { return }
            progress?.note(seen.count, of: parts * max(seen.count, itemSet.tags.count))
            let (finding, item) = try judge(row, context)
            if finding == nil || finding == .older { good.append(row.id) }
            if let finding {
                repair.note(StoreRepair.Item(finding, group: item?.group ?? "", name: item?.name))
            }
        }
        do throws(KeychainError) {
            try ItemDatabase.translatingErrors {
                _ = try ItemRow.forEach(database, hasData: false, after: .min, atMost: .max, look)
            }
        } catch {
            guard error.status == .decode else { throw error }
            repair.isFileDamaged = true
        }
        // An unreadable page hides later rows from a scan, but not from a look-up of each row.
        for row in itemSet.tags.rows.sorted() where !seen.contains(row) {
            do throws(KeychainError) {
                try ItemDatabase.translatingErrors {
                    _ = try ItemRow.forEach(database, hasData: false, after: row - 1, atMost: 1) {
                        if $0?.id == row { try look($0) }
                    }
                }
            } catch {
                guard error.status == .decode else { throw error }
                repair.isFileDamaged = true
            }
            if !seen.contains(row) { repair.missing += 1 }
        }
        let structure = (try? structureFaults()) ?? ["unreadable"]
        if !structure.isEmpty { repair.isFileDamaged = true }
        repair.kept = good.count
        return (repair, good.sorted())
    }

    /// Compares a row with its tag and its seals.
    ///
    /// - Returns: what is wrong with it, if anything, and its group and name if they can be read.
    func judge(
        _ row: ItemRow,
        _ context: ItemContext
    ) throws -> (StoreRepair.Finding?, (group: String, name: String)?) {
        var finding: StoreRepair.Finding?
        if itemSet.digest != nil {
            switch try row.fault(itemSet.tags, database, context) {
            case nil, .columns: break
            case .unknown: finding = .deleted
            case .attributes: finding = .older
            case .content: finding = .damaged
            }
        }
        let item = try? row.open(in: context) { header in
            let content = try ItemContent(header)
            return (content.group, content.name)
        }
        guard item != nil else { return (.damaged, nil) }
        if finding == nil || finding == .older, try !isReadable(row.id, context) { finding = .damaged }
        return (finding, item)
    }

    /// Whether the data can be opened; for an item that needs authentication, whether it is the data that was sealed, as
    /// far as its attributes say.
    private func isReadable(_ id: Int64, _ context: ItemContext) throws -> Bool {
        var isReadable = false
        do {
            try ItemRow.forRow(id, database) { row in
                isReadable = try row.open(in: context) { header in
                    guard row.hasData(of: header) else { return false }
                    guard case .some(.some(let control)) = header.accessControl(atEpoch: context.epoch),
                        ItemKeyWrap.demands(of: control) == [[]]
                    else { return true }
                    _ = try row.openData(header, control, proofs: [], password: nil, context)
                    return true
                }
            }
        } catch is AEAD.NotAuthentic {
            return false
        } catch {
            guard KeychainError(inStore: error).status == .decode else { throw error }
            return false
        }
        return isReadable
    }

    /// Writes rows to a new file, with a new record of the set.
    fileprivate func write(
        _ good: [Int64],
        generation: UInt64,
        keybag: UInt64,
        _ context: ItemContext
    ) throws(KeychainError) {
        let new = ItemStore(
            directory: directory,
            database: try ItemDatabase(makingIn: directory, .newItems),
            limits: limits
        )
        let progress = WorkProgress.current
        do throws(KeychainError) {
            try new.writeEmptySet(
                with: context.keys.itemSet,
                storeID: context.storeID,
                generation: generation,
                keybag: keybag
            )
            for start in stride(from: 0, to: good.count, by: 256) {
                try new.changeSet(context) {
                    for (number, id) in good[start..<min(start + 256, good.count)].enumerated() {
                        progress?.note(good.count + start + number, of: 2 * good.count)
                        try ItemRow.forRow(id, database) {
                            try new.insert(try $0.sealedAgain(context), context)
                        }
                    }
                    return true
                }
            }
            try new.database.checkpoint()
            new.database.shut()
            try directory.sync(.newItems)
            try directory.sync()
        } catch {
            new.database.shut()
            try? directory.removeItems(.newItems)
            throw error
        }
    }
}

extension StoreRepair {
    /// Whether every item that the record of the set names was found as it was last stored.
    fileprivate var isComplete: Bool { items.isEmpty && unnamed == 0 && missing == 0 && !isRecordDamaged }
}

extension ItemRow {
    /// The row unchanged, with the look-up digests from its sealed header.
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
