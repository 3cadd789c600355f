internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Checks all items: at once on request, and in small steps after the first unlock.
extension ItemStore {
    /// Reads every item and the set's record; also opens the data of items that need no authentication.
    func check(_ context: ItemContext) -> StoreReport {
        var report = Self.unknown
        report.isSetAuthentic = false
        do throws(KeychainError) {
            forgetStructure()
            report.faults += try structureFaults()
            comparison = nil
            try readWholeSet(context)
            let compared = try compared(context)
            var count = 0
            let progress = WorkProgress.current
            let rows = itemSet.tags.count
            try ItemDatabase.translatingErrors {
                _ = try ItemRow.forEach(database, after: .min, atMost: .max) { row in
                    count += 1
                    // Comparing with the tags is the first half.
                    progress?.note(rows + count, of: 2 * rows)
                    inspect(row, context, readsData: true, &report)
                }
            }
            let isRecorded = try isSetRecorded(context)
            if !isRecorded { report.faults.append(Self.setIsDamaged) }
            report.isSetAuthentic = compared.isWhole && isRecorded && count == itemSet.tags.count
        } catch {
            report.faults.append(Self.description(of: error))
        }
        health = report
        sweepState = nil
        return report
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
            let isInvalidated = try row.open(in: context) { header in
                guard row.hasDigests(of: header) else { throw AEAD.NotAuthentic() }
                let control = header.accessControl(atEpoch: context.epoch)
                if readsData, case .some(.some(let control)) = control,
                    ItemKeyWrap.demands(of: control) == [[]],
                    context.keys[KeybagKeyName(control.accessibility.classKey)] != nil
                {
                    _ = try row.openData(header, control, proofs: [], password: nil, context)
                }
                return control == nil
            }
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
