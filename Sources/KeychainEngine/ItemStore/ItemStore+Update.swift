internal import KeychainModel
internal import SecretMemory

/// Changing items that are there.
extension ItemStore {
    func run(_ update: ItemUpdate, _ context: ItemContext) throws -> UpdateOutcome {
        let found = try find(update.search, authorization: update.authorization, context)
        guard found.needed.isEmpty else { return .needsAuthentication(found.needed) }
        guard !found.valid.isEmpty else { throw KeychainError(.itemNotFound, cause: .invalidated) }
        let needed = try demandsOfKeys(in: found.valid.map(\.id), moved: update, context)
        guard needed.isEmpty else { return .needsAuthentication(needed) }
        for row in found.valid { try change(row, update, context) }
        return .updated(found.valid.count)
    }

    private func change(_ old: OldRow, _ update: ItemUpdate, _ context: ItemContext) throws {
        var new: SealedItem?
        var isFoundElsewhere = false
        try ItemRow.forRow(old.id, database) { row in
            try row.open(in: context) { header in
                let sealed = try reseal(row, header, update, context)
                isFoundElsewhere = unsafe !header.digests.elementsEqual(sealed.digests.octets)
                new = sealed
            }
        }
        guard let new else { throw KeychainError.damaged }
        if isFoundElsewhere {
            try makeRoom(for: new, besides: old.id, context)
            try replace(new)
        } else {
            try replaceContent(new)
        }
        itemSet.remove(old.contribution, row: old.id)
        itemSet.insert(try new.contribution(context), row: old.id)
        noteDeleted(1)
    }

    private func replace(_ item: SealedItem) throws {
        let statement = try database.statement(
            """
            UPDATE items SET scope = ?, first = ?, name = ?, second = ?, label = ?, attributes = ?, keys = ?, \
            data = ? WHERE id = ?
            """
        )
        item.bindColumns(of: statement)
        try statement.run()
    }

    /// Leaves the digests, which are the same: naming them would have SQLite write every index anew.
    private func replaceContent(_ item: SealedItem) throws {
        let statement = try database.statement(
            "UPDATE items SET attributes = ?, keys = ?, data = ? WHERE id = ?"
        )
        statement.bind(1, item.attributes)
        statement.bind(2, item.keys)
        statement.bind(3, item.data)
        statement.bind(4, item.row)
        try statement.run()
    }

    private func reseal(
        _ row: ItemRow,
        _ header: OpenedHeader,
        _ update: ItemUpdate,
        _ context: ItemContext
    ) throws -> SealedItem {
        guard
            case .open(let control) = try ItemOpening(
                header,
                authorization: update.authorization,
                epoch: context.epoch
            )
        else { throw KeychainError(.authFailed) }
        var content = try ItemContent(header)
        // A constraint to an enrolled set that is gone does not come back with a change.
        content.accessControl = update.changes.value.accessControl ?? control
        content.attributes.merge(update.changes.value.attributes) { $1 }
        let group = try update.group
        if let group { content.group = group.name }
        content.modified = update.time
        content.generation += 1
        let proofs = update.authorization.proofs(covering: control, for: .useItem)
        let password = update.password
        var old: SecretBytes?
        if unsafe row.data != nil {
            defer { itemKey.clear() }
            // Who cannot open an item cannot replace what is in it.
            try row.takeKey(
                into: itemKey,
                header,
                control,
                proofs: proofs,
                password: password,
                context
            )
            if group != nil || update.changes.value.data == nil {
                old = try row.openData(header, with: itemKey, context)
            }
        }
        if let group, let key = HeldKey(content, old, update, context) {
            let moved = try key.moved(to: group, update, context)
            old = SecretBytes(copying: moved)
        }
        let reference = unsafe Array(row.reference)
        // Without attributes, the group among them, the item stays where it is found.
        let isFoundAlike = update.changes.value.attributes.isEmpty
        let digests = isFoundAlike ? LookupDigests(octets: unsafe Array(header.digests)) : nil
        func seal(_ data: borrowing SecretBytes?) throws(KeychainError) -> SealedItem {
            try content.sealed(
                row: row.id,
                reference: reference,
                digests: digests,
                data: data,
                password: password,
                in: context
            )
        }
        if update.changes.value.data != nil { return try seal(update.changes.value.data) }
        return try seal(old)
    }
}
