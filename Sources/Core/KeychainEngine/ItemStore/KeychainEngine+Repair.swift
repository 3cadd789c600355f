internal import Glibc
public import KeychainModel
internal import Primitives
internal import SecretMemory

/// Repairs the items after damage or tampering: keeps what is valid, once the user, with the passcode, accepts it as the
/// present state.
extension KeychainEngine {
    /// Looks for damaged and outdated items; with `accepting`, makes the valid ones the present state.
    ///
    /// The former files are kept beside the new one. An older copy of the whole store is not damage: only the recovery
    /// code can accept it.
    public func repair(
        proof: AuthenticationProof,
        accepting: Bool
    ) async throws(KeychainError) -> StoreRepair {
        await enterKeybag()
        defer { leaveKeybag() }
        let record = try authenticRecord()
        // The proof counts by the key it holds, not by its claim.
        guard standing.keybagKey != nil else { throw .locked }
        guard let key = proof.passcodeKey, PasscodeConstraint.publicKey(of: key) == record.passcodePublicKey
        else { throw KeychainError(.authFailed) }
        if let storeFault, storeFault.cause == .rolledBack { throw storeFault }
        // If the items could not be read at the unlock, they were not compared with the hardware's counter then.
        let asked = countedGeneration == nil ? try await hardwareGeneration(of: record) : nil
        let counted = countedGeneration ?? asked
        let context = try context()
        let (source, isLogSaved) = try repairSource(context)
        defer { if source !== store { source.discard() } }
        let isAdopting = record.hardware?.isAdopted == false
        if let counted, !isAdopting, let generation = source.itemSet.generation,
            generation != counted, generation != counted &+ 1
        {
            throw KeychainError(.decode, cause: .rolledBack, remedy: .recover)
        }
        var (repair, good) = try source.findings(context, parts: accepting ? 2 : 1)
        repair.isLogDamaged = isLogSaved != nil
        repair.isLogSaved = isLogSaved ?? false
        guard accepting, !repair.isWell else { return repair }
        let generation = (isAdopting ? nil : source.itemSet.generation) ?? counted ?? 0
        try source.write(good, generation: generation, context)
        let aside = try replaceItems(context)
        repair.keptAside = aside
        if let counted {
            if storeFault == nil { try await compareGenerations(with: counted, adopting: isAdopting) }
            // Restoring the former file must be detected.
            await countOn()
        }
        report(
            .tamperDetected,
            factors: [.passcode],
            detail: "items: repaired, \(repair.kept) kept, \(repair.missing) missing, former file \(aside)"
        )
        return repair
    }

    /// The items to examine: the open store, or a copy with the content of its damaged log.
    ///
    /// - Returns: the items, and whether a damaged log was restored exactly; nil if the log is intact.
    private func repairSource(_ context: ItemContext) throws(KeychainError) -> (ItemStore, Bool?) {
        if let store {
            try store.reopenIfNeeded(context)
            return (store, nil)
        }
        guard let storeFault, storeFault.cause == .logDamaged,
            let salvaged = ItemLog(try ItemLog.read(in: directory) ?? []).salvaged()
        else { throw storeFault ?? .damaged }
        let saved = try ItemStore(saving: salvaged.octets, in: directory)
        _ = saved.load(context)
        return (saved, salvaged.isExact)
    }

    /// Switches to the new file; the former files are kept.
    ///
    /// - Returns: the new name of the former file.
    private func replaceItems(_ context: ItemContext) throws(KeychainError) -> String {
        sweep?.cancel()
        sweep = nil
        store?.database.shut()
        store = nil
        storeFault = .damaged
        let aside = try ItemReplacement(in: directory).run()
        let fresh = try ItemStore(directory: directory, limits: storeLimits)
        let isWell = fresh.load(context)
        store = fresh
        storeFault = nil
        isTamperingReported = !isWell
        sweepLater()
        return aside
    }

    /// The cause with which the use of items would fail; nil if no fault is known.
    public func itemsFault() -> DriverCause? {
        if let storeFault { return storeFault.cause ?? .damaged }
        guard !storeFaults().isEmpty else { return nil }
        return store?.itemSet.digest == nil ? .setDamaged : .damaged
    }

    /// The known faults of the items, as text; empty if there are none.
    public func storeFaults() -> [String] {
        if let storeFault {
            switch storeFault.cause {
            case .logDamaged?: return ["the log of recent changes is damaged"]
            case .rolledBack?: return ["the store is an older copy"]
            default: return ["the file of items is damaged"]
            }
        }
        guard let store, standing.context != nil else { return [] }
        var faults = store.health.faults
        if store.health.damaged > 0 { faults.append("\(store.health.damaged) damaged") }
        let isKnownWrong = store.comparison.map { !$0.isWhole } ?? false
        if !store.health.isSetAuthentic || isKnownWrong {
            faults.append("rows were added, removed or rolled back from outside")
        }
        return faults
    }
}

extension ItemStore {
    /// Opens a copy of the items file with another log.
    fileprivate convenience init(saving log: [UInt8], in directory: StoreDirectory) throws(KeychainError) {
        try directory.makeEmpty(.savedItems)
        guard let size = try directory.size(of: .items),
            let octets = try AtomicFile(.items, in: directory, longest: size).read(),
            let file = try directory.openFile(StoreFile.savedItems.rawValue, O_WRONLY)
        else { throw .damaged }
        defer { Glibc.close(file) }
        try AtomicFile.write(octets, to: file, at: 0)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let name = StoreFile.savedItems.rawValue + "-wal"
        let copy = unsafe openat(directory.descriptor, name, flags, 0o600)
        guard copy >= 0 else { throw FileError.keychainError(errno) }
        defer { Glibc.close(copy) }
        try AtomicFile.write(log, to: copy, at: 0)
        self.init(
            directory: directory,
            database: try ItemDatabase(openingIn: directory, .savedItems)
        )
    }

    /// Removes an examined copy.
    fileprivate func discard() {
        database.shut()
        try? directory.removeItems(.savedItems)
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
        forgetStructure()
        let structure = (try? structureFaults()) ?? ["unreadable"]
        if !structure.isEmpty { repair.isFileDamaged = true }
        repair.kept = good.count
        return (repair, good.sorted())
    }

    private func judge(
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

    /// Whether the data can be opened; true for an item that needs authentication.
    private func isReadable(_ id: Int64, _ context: ItemContext) throws -> Bool {
        var isReadable = false
        do {
            try ItemRow.forRow(id, database) { row in
                isReadable = try row.open(in: context) { header in
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
                generation: generation
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
