internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// Changes existing items.
extension ItemStore {
    func run(_ update: ItemUpdate, _ context: ItemContext) throws -> PendingWrite.Outcome {
        // Usually one item: it is resealed while it is read. Resealing all items of a wide update first would take too
        // much memory.
        var first: Result<Resealed, any Error>?
        let found = try find(update.search, authorization: update.authorization, context) { row, header in
            guard first == nil else { return }
            first = Result { try reseal(row, header, update, context) }
        }
        guard found.needed.isEmpty else { return .needsUser(found.needed) }
        guard !found.valid.isEmpty else { throw KeychainError(.itemNotFound, cause: .invalidated) }
        let needed = try demandsOfKeys(in: found.valid.map(\.id), moved: update, context)
        guard needed.isEmpty else { return .needsUser(needed) }
        for (index, row) in found.valid.enumerated() {
            update.progress?.note(index, of: found.valid.count)
            let new = try first.take()?.get() ?? reseal(row.id, update, context)
            assert(new.item.row == row.id)
            try change(row, to: new.item, isFoundElsewhere: new.isFoundElsewhere, context)
            if let former = new.former {
                try makeRoom(for: former, besides: nil, context)
                try limits.check(items: itemSet.tags.count + 1)
                try insert(former, context)
            }
        }
        return .updated(found.valid.count)
    }

    /// A row's new content.
    private struct Resealed {
        let item: SealedItem
        /// Whether its digests changed.
        let isFoundElsewhere: Bool
        /// The item as it was, as another one; nil if it is not kept.
        let former: SealedItem?
    }

    /// Writes a row's new content.
    func change(
        _ old: OldRow,
        to item: SealedItem,
        isFoundElsewhere: Bool,
        _ context: ItemContext
    ) throws {
        willChange?(old.id)
        try check(item.held.subtracting(old.held), context)
        if isFoundElsewhere {
            try makeRoom(for: item, besides: old.id, context)
            try replace(item)
        } else {
            try replaceContent(item)
        }
        itemSet.tags.set(item.tag(key: context.itemSet), row: old.id)
        comparison?.forget(old.id)
        noteEnd(item.ends)
        noteDeleted(1)
        try end(old.held, unlessIn: item.held, context)
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

    /// Omits the unchanged digests: naming their columns would make SQLite rewrite every index.
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

    private func reseal(_ id: Int64, _ update: ItemUpdate, _ context: ItemContext) throws -> Resealed {
        var resealed: Resealed?
        try ItemRow.forRow(id, database) { row in
            resealed = try row.open(in: context) { header in try reseal(row, header, update, context) }
        }
        guard let resealed else { throw KeychainError.damaged }
        return resealed
    }

    private func reseal(
        _ row: ItemRow,
        _ header: OpenedHeader,
        _ update: ItemUpdate,
        _ context: ItemContext
    ) throws -> Resealed {
        guard
            case .open(let control) = try ItemOpening(
                header,
                authorization: update.authorization,
                epoch: context.epoch
            )
        else { throw KeychainError(.authFailed) }
        var content = try ItemContent(header)
        content.held = try HeldKeys(of: row, header, context)
        let kept = try update.changes.value.former.map { try content.kept(with: $0, control) }
        // A constraint to a replaced enrolled set is not restored by a change.
        content.accessControl = update.changes.value.accessControl ?? control
        let formerCount = content.attributes.count
        content.attributes.merge(update.changes.value.attributes) { $1 }
        for key in ItemContent.ownKeys { content.attributes[key] = nil }
        // An item of an earlier version that has more keeps them.
        guard content.attributes.count <= max(formerCount, ItemLimits.mostAttributes) else {
            throw KeychainError(.param)
        }
        let formerByteCount = unsafe header.attributes.count + (row.data?.count ?? 0)
        let group = try update.group
        if let group { content.group = group.name }
        let named = update.changes.value.attributes[.namedKeys]
        try content.hold(named, data: update.changes.value.data, in: context)
        content.modified = update.time
        content.generation += 1
        let proofs = update.authorization.proofs(covering: control, for: .useItem)
        let password = update.password
        var old: SecretBytes?
        if unsafe row.data != nil {
            defer { itemKey.clear() }
            // A caller that cannot open an item cannot replace its data.
            try row.takeKey(
                into: &itemKey,
                header,
                control,
                proofs: proofs,
                password: password,
                context
            )
            if group != nil || kept != nil || update.changes.value.data == nil {
                old = try row.openData(header, with: itemKey, context)
            }
        }
        let former = try kept?.sealed(row: rows.take(), data: old, password: password, in: context)
        if let group, let key = ItemPrivateKey(content, old, update, context) {
            let moved = try key.moved(to: group, update, context)
            old = SecretBytes(copying: moved)
        }
        let reference = unsafe Array(row.reference)
        // Without changed attributes, including the group, the digests stay the same.
        let isFoundAlike = update.changes.value.attributes.isEmpty
        let digests = isFoundAlike ? LookupDigests(octets: unsafe Array(header.digests)) : nil
        func seal(_ data: borrowing SecretBytes?) throws(KeychainError) -> Resealed {
            let item = try content.sealed(
                row: row.id,
                reference: reference,
                digests: digests,
                data: data,
                password: password,
                atMost: max(formerByteCount, ItemLimits.longestItem),
                in: context
            )
            let isFoundElsewhere = unsafe !header.digests.elementsEqual(item.digests.octets)
            return Resealed(item: item, isFoundElsewhere: isFoundElsewhere, former: former)
        }
        if update.changes.value.data != nil {
            content.mark = content.mark?.remade(for: update.changes.value.data, context)
            return try seal(update.changes.value.data)
        }
        return try seal(old)
    }
}

extension ItemContent {
    /// The item as it is, before a change, with other attributes in place of its own: a new item of the same class, group and
    /// dates, under the access control that opened it.
    ///
    /// - Throws: `errSecParam` for an item that holds private keys, which two items cannot own.
    fileprivate func kept(
        with attributes: ItemAttributes,
        _ control: AccessControl
    ) throws(KeychainError) -> ItemContent {
        guard held == .none else { throw KeychainError(.param) }
        var kept = self
        kept.accessControl = control
        kept.attributes.merge(attributes) { $1 }
        for key in Self.ownKeys { kept.attributes[key] = nil }
        guard kept.attributes.count <= ItemLimits.mostAttributes else { throw KeychainError(.param) }
        kept.generation = 1
        kept.mark = nil
        return kept
    }
}
