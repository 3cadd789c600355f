internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Looking through all items: at once where somebody asks, and little by little after the first unlock.
extension ItemStore {
    /// Reads every item and the set's record; the data of items that need no user are opened too.
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
                    // Comparing with the tags was the first half.
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

    /// How many rows are looked at before requests have their turn: a third of a millisecond.
    private static let sweptAtOnce = 32

    /// Looks at the next rows of those that were there at the first unlock.
    ///
    /// - Returns: what was found when these were the last, nil while there are more.
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
                // Each row that is there is one of the set's: as many as there are is all of them.
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

    /// Judges one row, which has all columns, and counts it.
    ///
    /// A row that is another state of an item, or one that was deleted, opens like any other: it is an item, and the set
    /// is not authentic.
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

    /// Nothing seen, nothing wrong.
    static let unknown = StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: true, faults: [])
    static let setIsDamaged = "the record of the set of items is damaged"

    static func description(of error: KeychainError) -> String {
        if error.cause == .setDamaged { return setIsDamaged }
        let cause = error.cause.map { " (\($0.domain) \($0.code))" } ?? ""
        return "the items cannot be read: status \(error.status.rawValue)\(cause)"
    }
}

extension StoreReport {
    /// Whether nothing was found.
    var isWell: Bool { damaged == 0 && isSetAuthentic && faults.isEmpty }
}
