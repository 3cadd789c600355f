internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Checks all items: at once on request, and in small steps after the first unlock.
extension ItemStore {
    /// Checks the next part of all items, with the data of those that need no authentication, and the set's record.
    ///
    /// Others change items between two parts: each row is compared with the tag it has then.
    /// - Returns: the report after the last part; nil while there is more.
    func check(
        _ check: inout ItemCheck,
        _ context: ItemContext,
        isAwaited: @escaping @Sendable () -> Bool
    ) -> StoreReport? {
        do throws(KeychainError) {
            guard itemSet.isWhole else {
                try readNextSection(context)
                return nil
            }
            guard check.structure.isDone else {
                try check.structure.run(on: self, unless: isAwaited)
                check.report.faults += check.structure.faults ?? []
                return nil
            }
            if let last = try checkRows(&check, context) {
                check.row = last
                return nil
            }
            guard try checkSet(&check, context) else { return nil }
        } catch {
            check.report.faults.append(Self.description(of: error))
            check.report.isSetAuthentic = false
        }
        if !check.report.isWell { comparison = nil }
        health = check.report
        sweepState = nil
        return check.report
    }

    /// - Returns: the last row of the part; nil if there was none.
    private func checkRows(_ check: inout ItemCheck, _ context: ItemContext) throws(KeychainError) -> Int64? {
        let slice = WorkSlice()
        let progress = WorkProgress.current
        return try ItemDatabase.translatingErrors {
            try ItemRow.forEach(
                database,
                after: check.row,
                atMost: .max,
                while: { slice.goesOn }
            ) { row in
                check.count += 1
                progress?.note(check.count, of: itemSet.tags.count)
                inspect(row, context, readsData: true, &check.report)
                guard check.structure.faults == nil, let row else { return }
                if try !row.isIndexed(in: database) { check.report.damaged += 1 }
            }
        }
    }

    /// Compares the number of rows with that of the tags, which all have a row if the numbers are equal, and a section of the
    /// recorded set with the one in memory.
    ///
    /// - Returns: whether it was the last section, or is damaged.
    private func checkSet(_ check: inout ItemCheck, _ context: ItemContext) throws(KeychainError) -> Bool {
        if check.section == 0, try counts().count != itemSet.tags.count {
            check.report.isSetAuthentic = false
        }
        guard try isSectionRecorded(check.section, context) else {
            check.report.faults.append(Self.setIsDamaged)
            check.report.isSetAuthentic = false
            return true
        }
        check.section += 1
        return check.section >= itemSet.digest?.sections.count ?? 0
    }

    /// The rows checked before requests get their turn: a third of a millisecond.
    private static let sweptAtOnce = 32

    /// Checks the next of the rows that existed at the first unlock.
    ///
    /// - Returns: the report after the last rows; nil while there are more.
    func sweep(_ context: ItemContext) -> StoreReport? {
        guard var sweep = sweepState, !needsReopening else { return health }
        do throws(KeychainError) {
            guard itemSet.isWhole else {
                try readNextSection(context)
                return nil
            }
            var stale: [Rewrapped] = []
            let last = try ItemDatabase.translatingErrors {
                try ItemRow.forEach(database, hasData: false, after: sweep.row, atMost: Self.sweptAtOnce) {
                    row in
                    inspect(row, context, readsData: false, &sweep.report)
                    guard let row else { return }
                    if try !row.isIndexed(in: database) { sweep.report.damaged += 1 }
                    if let change = try rewrapped(row, context) { stale.append(change) }
                }
            }
            try replaceKeys(stale, context)
            guard let last else {
                // Every row found has a tag in the set, so an equal count means that all are present.
                if try counts().count != itemSet.tags.count { sweep.report.isSetAuthentic = false }
                sweep.report.faults = health.faults
                if sweep.report.damaged > 0 { forgetStructure() }
                health = sweep.report
                if sweep.report.damaged > 0 { health.faults += try structureFaults() }
                sweepState = nil
                return health
            }
            sweep.row = last
            sweepState = sweep
            return nil
        } catch {
            needsReopening = needsReopening || error.status == .io
            if error.cause != .setDamaged { health.faults.append(Self.description(of: error)) }
            sweepState = nil
            return health
        }
    }

    /// Checks one row, which has all columns, and counts it.
    ///
    /// An outdated state of an item, or a deleted item, opens like any other row: it counts as an item, and the set as
    /// not authentic.
    private func inspect(
        _ row: ItemRow?,
        _ context: ItemContext,
        readsData: Bool,
        _ report: inout StoreReport
    ) {
        do {
            guard let row else { throw AEAD.NotAuthentic() }
            let fault = try row.fault(itemSet.tags, database, context)
            if fault != nil { report.isSetAuthentic = false }
            guard fault == nil || fault == .attributes || fault == .unknown else { throw AEAD.NotAuthentic() }
            var isUsers = true
            let isInvalidated = try row.open(in: context) { header in
                isUsers = !header.isKeyRow && header.groupName != AccessGroup.reads.name
                noteEnd(unsafe AttributeMatch.date(of: .ends, in: header.attributes))
                guard row.hasDigests(of: header), !readsData || row.hasData(of: header) else {
                    throw AEAD.NotAuthentic()
                }
                let control = header.accessControl(atEpoch: context.epoch)
                if readsData, case .some(.some(let control)) = control,
                    ItemKeyWrap.demands(of: control) == [[]],
                    context.keys[KeybagKeyName(control.accessibility.classKey)] != nil
                {
                    _ = try row.openData(header, control, proofs: [], password: nil, context)
                }
                return control == nil
            }
            guard isUsers else { return }
            if isInvalidated { report.invalidated += 1 } else { report.items += 1 }
        } catch {
            report.damaged += 1
        }
    }

    /// The initial report: nothing checked, no faults.
    static let unknown = StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: true, faults: [])
    static let setIsDamaged = "the record of the set of items is damaged"

    static func description(of error: KeychainError) -> String {
        if error.cause == .setDamaged { return setIsDamaged }
        let cause = error.cause.map { " (\($0.domain) \($0.code))" } ?? ""
        return "the items cannot be read: status \(error.status.rawValue)\(cause)"
    }
}

extension StoreReport {
    /// Whether no faults were found.
    var isWell: Bool { damaged == 0 && isSetAuthentic && faults.isEmpty }
}

/// A check of all items, part by part.
struct ItemCheck {
    /// The last row that was checked.
    fileprivate var row = Int64.min
    /// How many were.
    fileprivate var count = 0
    /// How many sections of the recorded set were compared.
    fileprivate var section = 0
    fileprivate var structure = StructureCheck()
    fileprivate var report = ItemStore.unknown
}
