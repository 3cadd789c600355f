internal import KeychainModel
internal import Primitives
internal import SecretMemory

extension ItemStore {
    /// Commits all `writes` together, durably, and sets their results.
    ///
    /// A write that fails does not stop the others; a commit that fails because of the disk rolls back all.
    func commit(_ writes: [PendingWrite], _ context: ItemContext, counting: Counting = .later) {
        do throws(KeychainError) {
            try reopenIfNeeded(context)
            guard itemSet.digest != nil else {
                throw KeychainError(.decode, cause: .setDamaged, remedy: .check)
            }
            try readWholeSet(context)
            let writes = try admit(writes)
            guard !writes.isEmpty else { return }
            do throws(KeychainError) {
                try changeSet(context) {
                    for write in writes { try run(write, context) }
                    guard writes.contains(where: \.hasChanged) else { return false }
                    commitsSinceCount += 1
                    if isCountDue, counting == .on {
                        itemSet.digest?.generation += 1
                        hasCounted()
                    }
                    return true
                }
                lengthenLog()
            } catch {
                logLength = logByteCount()
                needsReopening = error.status == .io
                guard writes.count > 1, !needsReopening else { throw error }
                // A write had changed rows before it failed, and rolled back the others too. A savepoint for each would save
                // this, but costs 16 clients that add items 8 % of their rate.
                for write in writes {
                    write.result = nil
                    commit([write], context, counting: counting)
                }
            }
        } catch {
            for write in writes where write.result?.isFailure != true { write.result = .failure(error) }
        }
    }

    private func run(_ write: PendingWrite, _ context: ItemContext) throws {
        let changes = database.changeCount
        do {
            write.result = .success(try perform(write.operation, context))
        } catch {
            let failure = KeychainError(inStore: error)
            write.result = .failure(failure)
            // Others may go on if nothing of this write remains, and SQLite has not rolled back their changes.
            guard database.changeCount == changes, database.isInsideTransaction, failure.status != .io else {
                throw error
            }
        }
    }

    private func perform(
        _ operation: PendingWrite.Operation,
        _ context: ItemContext
    ) throws -> PendingWrite.Outcome {
        switch operation {
        case .add(let item, _):
            try check(item.held, context)
            try makeRoom(for: item, besides: nil, context)
            try limits.check(items: itemSet.tags.count + 1)
            try insert(item, context)
            return .added
        case .update(let update): return try run(update, context)
        case .delete(let deletion): return .deleted(try delete(deletion, context))
        case .replace(let swap): return .replaced(try run(swap, context))
        case .erase(let erasure): return .erased(try run(erasure, context))
        case .merge(let merge): return .merged(try run(merge, context))
        case .countUse(let id, let most): return .counted(try countUse(of: id, most: most, context))
        }
    }

    // MARK: Add

    /// Refuses an item whose primary key is taken, and removes an invalidated item that has it.
    func makeRoom(for item: SealedItem, besides own: Int64?, _ context: ItemContext) throws {
        let name = item.digests[.name]
        var old: [OldRow] = []
        do {
            try ItemRow.forEach(database, .name(name), after: 0, tags: itemSet.tags) { row in
                guard row.id != own else { return true }
                guard row.isCurrent(itemSet.tags[row.id]) else { throw AEAD.NotAuthentic() }
                try row.open(in: context) { header in
                    guard unsafe header.digest(.variant).elementsEqual(item.digests[.variant]) else { return }
                    guard header.accessControl(atEpoch: context.epoch) == nil else {
                        throw KeychainError(.duplicateItem)
                    }
                    old.append(try OldRow(row, header, context))
                }
                return true
            }
        } catch is AEAD.NotAuthentic {
            throw KeychainError.damaged
        }
        for row in old { try remove(row, keeping: item.held, context) }
    }

    func insert(_ item: SealedItem, _ context: ItemContext) throws {
        let statement = try database.statement(
            """
            INSERT INTO items (scope, first, name, second, label, attributes, keys, data, id, reference) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        item.bindColumns(of: statement)
        statement.bind(10, item.reference)
        try statement.run()
        noteEnd(item.ends)
        itemSet.tags.set(item.tag(key: context.itemSet), row: item.row)
    }

    // MARK: Delete

    /// Deletes the next items of a deletion.
    private func delete(_ deletion: ItemDeletion, _ context: ItemContext) throws -> ItemDeletion.Part {
        var part = deletion.done
        let found = try nextItems(of: deletion.search, after: &part.progress, context)
        for row in found.valid + found.invalidated { try remove(row, context) }
        // Invalidated items count only if the query names them; other callers do not know of them.
        let namesInvalidated = deletion.search.query.returns.contains(.invalidated)
        part.count += found.valid.count + (namesInvalidated ? found.invalidated.count : 0)
        return part
    }

    /// Finds the next items of a search, as many as one commit changes.
    func nextItems(
        of search: ItemSearch,
        after progress: inout ItemDeletion.Progress,
        _ context: ItemContext
    ) throws -> Found {
        var next = progress
        next.isUnfinished = false
        var rows = 0
        let found = try find(
            search,
            authorization: nil,
            context,
            after: next.row,
            mayBeEmpty: { next.isUnfinished || next.hasFound }
        ) { row, found in
            rows += 1
            next.row = row
            next.isUnfinished = rows >= ItemDeletion.mostRows || found >= ItemDeletion.mostItems
            return !next.isUnfinished
        }
        next.hasFound = next.hasFound || !found.isEmpty
        progress = next
        return found
    }

    /// Removes a row, and with it the keys that it held, except those that another item takes over.
    func remove(_ row: OldRow, keeping: HeldKeys = .none, _ context: ItemContext) throws {
        willChange?(row.id)
        let statement = try database.statement("DELETE FROM items WHERE id = ?")
        statement.bind(1, row.id)
        try statement.run()
        itemSet.tags.set(nil, row: row.id)
        comparison?.forget(row.id)
        hasRemovedProtected = hasRemovedProtected || row.isProtected
        noteDeleted(1)
        try end(row.held, unlessIn: keeping, context)
    }

    /// A row that is to be changed or deleted.
    struct OldRow {
        let id: Int64
        /// Whether it has constraints: restoring it would undo a decision.
        let isProtected: Bool
        /// The private keys that are deleted with it.
        let held: HeldKeys

        init(_ row: ItemRow, _ header: OpenedHeader, _ context: ItemContext) throws(KeychainError) {
            id = row.id
            isProtected = !header.flags.isEmpty
            held = try HeldKeys(of: row, header, context)
        }
    }

    struct Found {
        var valid: [OldRow] = []
        var invalidated: [OldRow] = []
        var needed: [AccessControl] = []

        var isEmpty: Bool { valid.isEmpty && needed.isEmpty && invalidated.isEmpty }
    }

    /// Finds all items of a search.
    ///
    /// Without an authorisation no item is opened and no authentication is requested; `whenOpen` is called for items that
    /// the authorisation opens. Only rows after `last` are found, until `goesOn` returns false, which is asked after each row
    /// with its number and the number of items found. `mayBeEmpty` says whether it is no error to find nothing.
    func find(
        _ search: ItemSearch,
        authorization: ItemAuthorization?,
        _ context: ItemContext,
        whenOpen: (ItemRow, OpenedHeader) -> Void = { _, _ in },
        after last: Int64 = 0,
        mayBeEmpty: () -> Bool = { false },
        while goesOn: (_ row: Int64, _ found: Int) -> Bool = { _, _ in true }
    ) throws -> Found {
        var found = Found()
        var isDamageSeen = false
        func take(_ row: ItemRow) throws -> Bool {
            do {
                guard row.isCurrent(itemSet.tags[row.id]) else { throw AEAD.NotAuthentic() }
                // A change seals the item's data again, or its absence, so check that first.
                if authorization != nil { try checkAbsentData(of: row, context) }
                try row.open(in: context) { header in
                    guard search.matches(row, header) else { return }
                    let old = try OldRow(row, header, context)
                    let proofs = authorization ?? ItemAuthorization()
                    switch try ItemOpening(header, authorization: proofs, epoch: context.epoch) {
                    case .invalidated: found.invalidated.append(old)
                    case .needsUser(let control) where authorization != nil:
                        if !found.needed.contains(control) { found.needed.append(control) }
                    case .never(let error) where authorization != nil: throw KeychainError(error)
                    case .open:
                        found.valid.append(old)
                        whenOpen(row, header)
                    case .needsUser, .never: found.valid.append(old)
                    }
                }
            } catch is AEAD.NotAuthentic {
                isDamageSeen = true
            }
            return goesOn(row.id, found.valid.count + found.invalidated.count)
        }
        do {
            try ItemRow.forEach(database, search.source, after: last, tags: itemSet.tags, take)
        } catch is AEAD.NotAuthentic {
            isDamageSeen = true
        }
        if isDamageSeen { throw KeychainError.damaged }
        if found.isEmpty, !mayBeEmpty() {
            if search.source.needsIndex, try mayHideItems(context) { throw KeychainError.damaged }
            throw KeychainError(.itemNotFound)
        }
        return found
    }
}

extension SealedItem {
    /// Binds the columns from `scope` to `data` in the order of the schema, and the row number.
    func bindColumns(of statement: ItemStatement) {
        unsafe digests.octets.withUnsafeBytes { octets in
            for part in LookupDigests.Part.columns {
                let digest = unsafe UnsafeRawBufferPointer(rebasing: octets[part.range])
                if unsafe digest.allSatisfy({ $0 == 0 }) {
                    statement.bind(CInt(part.rawValue + 1), nil)
                } else {
                    unsafe statement.bind(CInt(part.rawValue + 1), digest)
                }
            }
        }
        statement.bind(6, attributes)
        statement.bind(7, keys)
        statement.bind(8, data)
        statement.bind(9, row)
    }

    /// The item's tag for the set.
    func tag(key: KeyedDigest) -> ItemTag {
        let columns = LookupDigests.Part.columns.count * LookupDigests.digestByteCount
        let mark = data.map { data in
            unsafe data.withUnsafeBytes { unsafe ItemTag.DataMark(count: data.count, start: $0) }
        }
        return unsafe reference.withUnsafeBytes { reference in
            unsafe attributes.withUnsafeBytes { attributes in
                unsafe digests.octets.withUnsafeBytes { digests in
                    func make(_ keys: UnsafeRawBufferPointer?) -> ItemTag {
                        unsafe ItemTag(
                            row: row,
                            reference: reference,
                            attributes: attributes,
                            digests: UnsafeRawBufferPointer(rebasing: digests[..<columns]),
                            keys: keys,
                            data: mark,
                            key: key
                        )
                    }
                    return keys.map { unsafe $0.withUnsafeBytes { unsafe make($0) } } ?? make(nil)
                }
            }
        }
    }
}
