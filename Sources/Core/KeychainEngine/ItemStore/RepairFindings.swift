internal import KeychainModel
internal import Primitives

/// What a repair found in each row.
struct RepairFindings {
    /// The valid rows.
    private(set) var good: Set<Int64> = []
    /// The rows that are in the record of the set, but not in the table.
    private(set) var missing: Set<Int64> = []
    private var faults: [Int64: StoreRepair.Item] = [:]
    /// The rows that stand for deleted keys, or for the uses of keys.
    private var keyRows: Set<Int64> = []

    /// Examines a row, which has all columns.
    ///
    /// - Returns: whether it is valid.
    @discardableResult
    mutating func examine(_ row: ItemRow, in store: ItemStore, _ context: ItemContext) throws -> Bool {
        let (finding, item) = try store.judge(row, context)
        if let finding {
            faults[row.id] = StoreRepair.Item(finding, group: item?.group ?? "", name: item?.name)
        }
        guard finding == nil || finding == .older else { return false }
        good.insert(row.id)
        if item?.group.isEmpty == true { keyRows.insert(row.id) }
        return true
    }

    mutating func noteMissing(_ row: Int64) { missing.insert(row) }

    /// Notes the rows that have a tag and were not examined.
    mutating func noteMissing(of tags: ItemTags) {
        missing = Set(tags.rows.filter { !good.contains($0) && faults[$0] == nil })
    }

    /// Forgets a row that is to be examined again.
    mutating func forget(_ row: Int64) {
        good.remove(row)
        missing.remove(row)
        faults[row] = nil
    }

    /// The findings for the user, in the order of the rows.
    var report: StoreRepair {
        var repair = StoreRepair()
        for (_, item) in faults.sorted(by: { $0.key < $1.key }) { repair.note(item) }
        repair.missing = missing.count
        repair.kept = good.subtracting(keyRows).count
        return repair
    }
}

extension ItemStore {
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
}
