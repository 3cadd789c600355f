internal import Foundation
internal import KeychainModel
internal import SecretMemory

/// Looking through all items: at once where somebody asks, and little by little after the first unlock.
extension ItemStore {
    /// Reads every item and the set's digest; the data of items that need no user are opened too.
    func check(_ context: ItemContext) -> StoreReport {
        var report = Self.unknown
        report.isSetAuthentic = false
        do throws(KeychainError) {
            forgetStructure()
            report.faults += try structureFaults()
            var found = ItemSetDigest()
            try ItemDatabase.translatingErrors {
                _ = try ItemRow.forEach(database, after: .min, atMost: .max) { row in
                    guard let contribution = row.flatMap({ inspect($0, context, readsData: true, &report) })
                    else {
                        report.damaged += 1
                        return
                    }
                    found.insert(contribution)
                }
            }
            let recorded = try readSet(context)
            if recorded == nil { report.faults.append(Self.setIsDamaged) }
            report.isSetAuthentic = recorded?.hasItems(of: found) == true && recorded == itemSet.digest
        } catch {
            report.faults.append(Self.description(of: error))
        }
        health = report
        itemSet.endSweep()
        return report
    }

    /// How many rows are looked at before requests have their turn: a third of a millisecond.
    private static let sweptAtOnce = 32

    /// Looks at the next rows of those that were there at the first unlock.
    ///
    /// - Returns: what was found when these were the last, nil while there are more.
    func sweep(_ context: ItemContext) -> StoreReport? {
        guard var sweep = itemSet.sweep, !needsReopening else { return health }
        do throws(KeychainError) {
            var stale: [(row: Int64, keys: [UInt8]?)] = []
            let last = try ItemDatabase.translatingErrors {
                try ItemRow.forEach(database, after: sweep.row, atMost: Self.sweptAtOnce) { row in
                    guard let row,
                        let contribution = inspect(row, context, readsData: false, &sweep.report),
                        try row.isIndexed(in: database)
                    else {
                        sweep.report.damaged += 1
                        return
                    }
                    sweep.found.insert(contribution)
                    if let keys = row.keysWithoutCurrentSet(context) { stale.append((row.id, keys)) }
                }
            }
            try replaceKeys(stale)
            guard let last else {
                sweep.report.isSetAuthentic = itemSet.digest?.hasItems(of: sweep.found) == true
                sweep.report.faults = health.faults
                if sweep.report.damaged > 0 { forgetStructure() }
                health = sweep.report
                if sweep.report.damaged > 0 { health.faults += try structureFaults() }
                itemSet.endSweep()
                return health
            }
            sweep.row = last
            itemSet.sweep = sweep
            return nil
        } catch {
            needsReopening = error.status == .io
            health.faults.append(Self.description(of: error))
            itemSet.endSweep()
            return health
        }
    }

    /// Judges one row; nil when it is damaged.
    private func inspect(
        _ row: ItemRow,
        _ context: ItemContext,
        readsData: Bool,
        _ report: inout StoreReport
    ) -> SIMD4<UInt64>? {
        let judged: (isInvalidated: Bool, contribution: SIMD4<UInt64>)? = try? row.open(in: context) {
            header in
            guard row.hasDigests(of: header) else { throw AEAD.NotAuthentic() }
            unsafe namedRows.note(row.id, header.digest(.name))
            let control = header.accessControl(atEpoch: context.epoch)
            if readsData, case .some(.some(let control)) = control, ItemKeyWrap.demands(of: control) == [[]],
                context.keys[KeybagKeyName(control.accessibility.classKey)] != nil
            {
                _ = try row.openData(header, control, proofs: [], password: nil, context)
            }
            return (control == nil, try row.contribution(generation: header.generation, context))
        }
        guard let judged else { return nil }
        if judged.isInvalidated { report.invalidated += 1 } else { report.items += 1 }
        return judged.contribution
    }

    /// Nothing seen, nothing wrong.
    static let unknown = StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: true, faults: [])
    static let setIsDamaged = "the digest over the items is damaged"

    static func description(of error: KeychainError) -> String {
        let cause = error.cause.map { " (\($0.domain) \($0.code))" } ?? ""
        return "the items cannot be read: status \(error.status.rawValue)\(cause)"
    }
}

extension StoreReport {
    /// Whether nothing was found.
    var isWell: Bool { damaged == 0 && isSetAuthentic && faults.isEmpty }
}
