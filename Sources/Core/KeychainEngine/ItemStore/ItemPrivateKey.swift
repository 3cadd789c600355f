internal import KeychainModel
internal import SecretMemory

/// A private key stored in an item: it belongs to one access group, and moves to another group with its item.
struct ItemPrivateKey {
    private let record: PrivateKeyRecord
    /// The present access control for its use.
    let accessControl: AccessControl

    /// The key in an item's data; nil if the item has none, the caller may not use it, or it is invalidated: such data
    /// moves with the item unchanged.
    init?(
        _ content: ItemContent,
        _ data: borrowing SecretBytes?,
        _ update: ItemUpdate,
        _ context: ItemContext
    ) {
        guard content.itemClass == .key, content.attributes[.tokenID] != nil else { return nil }
        var representation: [UInt8] = []
        unsafe data.lend { unsafe representation = Array($0) }
        guard let record = try? PrivateKeyRecord(representation, in: context),
            // Otherwise a copy of the key's representation would suffice to use the key.
            update.groups.contains(record.group),
            let accessControl = record.accessControl(atEpoch: context.epoch)
        else { return nil }
        self.record = record
        self.accessControl = accessControl
    }

    /// The key's representation in another group.
    func moved(
        to group: AccessGroup,
        _ update: ItemUpdate,
        _ context: ItemContext
    ) throws(KeychainError) -> [UInt8] {
        let proofs = update.authorization.proofs(covering: accessControl, for: .useItem)
        let moved = try record.moved(
            to: group,
            accessControl,
            proofs: proofs,
            password: update.password,
            in: context
        )
        return try moved.sealed(in: context)
    }
}

extension ItemStore {
    /// The authentication needed before keys move to another group, where any program that finds the item may use the
    /// key.
    func demandsOfKeys(
        in rows: [Int64],
        moved update: ItemUpdate,
        _ context: ItemContext
    ) throws -> [AccessControl] {
        guard try update.group != nil else { return [] }
        var needed: [AccessControl] = []
        for id in rows {
            try ItemRow.forRow(id, database) { row in
                try row.open(in: context) { header in
                    guard header.has(.key), let key = try itemPrivateKey(row, header, update, context) else {
                        return
                    }
                    switch key.accessControl.decide(given: update.authorization.proofs, operation: .useItem) {
                    case .granted: break
                    case .needs: if !needed.contains(key.accessControl) { needed.append(key.accessControl) }
                    case .denied(let error): throw KeychainError(error)
                    }
                }
            }
        }
        return needed
    }

    private func itemPrivateKey(
        _ row: ItemRow,
        _ header: OpenedHeader,
        _ update: ItemUpdate,
        _ context: ItemContext
    ) throws(KeychainError) -> ItemPrivateKey? {
        let opening = try ItemOpening(header, authorization: update.authorization, epoch: context.epoch)
        guard case .open(let control) = opening else { return nil }
        let proofs = update.authorization.proofs(covering: control, for: .useItem)
        let data = try row.openData(header, control, proofs: proofs, password: update.password, context)
        return ItemPrivateKey(try ItemContent(header), data, update, context)
    }
}
