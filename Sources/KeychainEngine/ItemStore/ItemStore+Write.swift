internal import Foundation
internal import KeychainModel
internal import SecretMemory

extension ItemStore {
    /// Commits all of `writes` together, durably; each has its result then.
    ///
    /// One that fails takes back its own changes only; a commit that fails, those of all. One that would count on
    /// where that is refused takes them back too, and leaves no result.
    func commit(_ writes: [PendingWrite], _ context: ItemContext, counting: Counting = .later) {
        do throws(KeychainError) {
            try reopenIfNeeded(context)
            let writes = try admit(writes)
            guard !writes.isEmpty else { return }
            let former = itemSet
            do throws(KeychainError) {
                try database.transaction {
                    for write in writes { try run(write, alone: writes.count == 1, context) }
                    guard writes.contains(where: \.hasChanged) else { return false }
                    commitsSinceCount += 1
                    if isCountDue {
                        switch counting {
                        case .on:
                            itemSet.generation? += 1
                            hasCounted()
                        case .later: break
                        case .refused:
                            itemSet = former
                            commitsSinceCount -= 1
                            for write in writes { write.result = nil }
                            return false
                        }
                    }
                    if let digest = itemSet.digest {
                        try self.write(digest, with: context.setRecord, storeID: context.storeID)
                    }
                    return true
                }
                lengthenLog()
                // Rolled back because nothing changed: the digest did not either.
            } catch {
                itemSet = former
                logLength = logByteCount()
                needsReopening = error.status == .io
                throw error
            }
        } catch {
            for write in writes where write.result?.isFailure != true { write.result = .failure(error) }
        }
    }

    private func run(
        _ write: PendingWrite,
        alone: Bool,
        _ context: ItemContext
    ) throws {
        let former = itemSet
        do {
            if alone {
                write.result = .success(try perform(write.operation, context))
            } else {
                try database.savepoint { write.result = .success(try perform(write.operation, context)) }
            }
        } catch {
            itemSet = former
            write.result = .failure(ItemDatabase.keychainError(error))
            // Some failures end the whole transaction: then nobody's change is there.
            if alone || !database.isInsideTransaction { throw error }
        }
    }

    private func perform(
        _ operation: PendingWrite.Operation,
        _ context: ItemContext
    ) throws -> PendingWrite.Outcome {
        switch operation {
        case .add(let item):
            try makeRoom(for: item, besides: nil, context)
            try insert(item, context)
            return .added
        case .update(let update): return .updated(try run(update, context))
        case .delete(let search): return .deleted(try delete(search, context))
        }
    }

    // MARK: Add

    /// Refuses an item whose primary key is taken, and removes an invalidated one that has it.
    private func makeRoom(for item: SealedItem, besides own: Int64?, _ context: ItemContext) throws {
        let source = ItemSearch.Source.name(first: item.digests[.first], name: item.digests[.name])
        var old: [OldRow] = []
        try ItemRow.forEach(database, source, after: 0) { row in
            namedRows.note(row.id, item.digests[.name])
            guard row.id != own else { return true }
            do {
                try row.open(in: context) { header in
                    guard unsafe header.variant.elementsEqual(item.digests[.variant]) else { return }
                    guard header.accessControl(atEpoch: context.epoch) == nil else {
                        throw KeychainError(.duplicateItem)
                    }
                    old.append(try OldRow(row, header, context))
                }
            } catch is AEAD.NotAuthentic {
                throw KeychainError.damaged
            }
            return true
        }
        for row in old { try remove(row) }
    }

    private func insert(_ item: SealedItem, _ context: ItemContext) throws {
        let statement = try database.statement(
            """
            INSERT INTO items (scope, first, name, second, label, attributes, keys, data, id, reference) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        item.bindColumns(of: statement)
        statement.bind(10, item.reference)
        try statement.run()
        itemSet.insert(try item.contribution(context), row: item.row)
        namedRows.note(item.row, item.digests[.name])
    }

    // MARK: Delete

    private func delete(_ search: ItemSearch, _ context: ItemContext) throws -> Int {
        let found = try find(search, authorization: nil, context)
        for row in found.valid + found.invalidated { try remove(row) }
        return found.valid.count
    }

    private func remove(_ row: OldRow) throws {
        let statement = try database.statement("DELETE FROM items WHERE id = ?")
        statement.bind(1, row.id)
        try statement.run()
        itemSet.remove(row.contribution, row: row.id)
        hasRemovedProtected = hasRemovedProtected || row.isProtected
        noteDeleted(1)
    }

    /// A row that is to be changed or to go.
    private struct OldRow {
        let id: Int64
        let contribution: SIMD4<UInt64>
        /// Whether its access control demands anything: bringing it back would undo a decision.
        let isProtected: Bool

        init(_ row: ItemRow, _ header: OpenedHeader, _ context: ItemContext) throws(KeychainError) {
            id = row.id
            isProtected = !header.flags.isEmpty
            contribution = try row.contribution(generation: header.generation, context)
        }
    }

    private struct Found {
        var valid: [OldRow] = []
        var invalidated: [OldRow] = []
        var needed: [AccessControl] = []
    }

    /// Finds all items of a search.
    ///
    /// Without an authorisation no item is opened, and none is asked for.
    private func find(
        _ search: ItemSearch,
        authorization: ItemAuthorization?,
        _ context: ItemContext
    ) throws -> Found {
        var found = Found()
        var isDamageSeen = false
        try ItemRow.forEach(database, search.source, after: 0) { row in
            do {
                try row.open(in: context) { header in
                    guard search.matches(header) else { return }
                    let old = try OldRow(row, header, context)
                    let proofs = authorization ?? ItemAuthorization()
                    switch try ItemOpening(header, authorization: proofs, epoch: context.epoch) {
                    case .invalidated: found.invalidated.append(old)
                    case .needsUser(let control) where authorization != nil:
                        if !found.needed.contains(control) { found.needed.append(control) }
                    case .never(let error) where authorization != nil: throw KeychainError(error)
                    case .open, .needsUser, .never: found.valid.append(old)
                    }
                }
            } catch is AEAD.NotAuthentic {
                isDamageSeen = true
            }
            return true
        }
        if isDamageSeen { throw KeychainError.damaged }
        if found.valid.isEmpty, found.needed.isEmpty, found.invalidated.isEmpty {
            throw try mayHideItems() ? KeychainError.damaged : KeychainError(.itemNotFound)
        }
        return found
    }

    // MARK: Update

    private func run(_ update: ItemUpdate, _ context: ItemContext) throws -> UpdateOutcome {
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
        namedRows.note(item.row, item.digests[.name])
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
        defer { itemKey.clear() }
        var old: SecretBytes?
        if group != nil || update.changes.value.data == nil {
            old = try row.openData(
                header,
                control,
                proofs: proofs,
                password: password,
                key: itemKey,
                context
            )
        } else if unsafe row.data != nil {
            // Who cannot open an item cannot replace what is in it.
            try row.takeKey(
                into: itemKey,
                header,
                control,
                proofs: proofs,
                password: password,
                context
            )
        }
        if let group, let key = HeldKey(content, old, update, context) {
            let moved = try key.moved(to: group, update, context)
            old = SecretBytes(copying: moved)
        }
        let reference = unsafe Array(row.reference)
        // Without attributes, the group among them, the item stays where it is found.
        let isFoundAlike = update.changes.value.attributes.isEmpty
        let digests = isFoundAlike ? LookupDigests(octets: unsafe Array(header.digests)) : nil
        if update.changes.value.data != nil {
            return try content.sealed(
                row: row.id,
                reference: reference,
                digests: digests,
                data: update.changes.value.data,
                password: password,
                in: context
            )
        }
        return try content.sealed(
            row: row.id,
            reference: reference,
            digests: digests,
            data: old,
            password: password,
            in: context
        )
    }
}

extension ItemStore {
    /// Deletes the wraps of items whose enrolled set is gone; their key was destroyed before.
    ///
    /// - Returns: how many items can never be opened again.
    func dropCurrentSetWraps(_ context: ItemContext) throws(KeychainError) -> Int {
        try reopenIfNeeded(context)
        var stale: [(row: Int64, keys: [UInt8]?)] = []
        try ItemDatabase.translatingErrors {
            _ = try ItemRow.forEach(database, after: .min, atMost: .max) { row in
                guard let row, let keys = row.keysWithoutCurrentSet(context) else { return }
                stale.append((row.id, keys))
            }
        }
        try replaceKeys(stale)
        return stale.count { $0.keys == nil }
    }

    /// Gives rows other wraps, or none.
    func replaceKeys(_ changes: [(row: Int64, keys: [UInt8]?)]) throws(KeychainError) {
        guard !changes.isEmpty else { return }
        try database.transaction {
            let statement = try database.statement("UPDATE items SET keys = ? WHERE id = ?")
            for change in changes {
                statement.bind(1, change.keys)
                statement.bind(2, change.row)
                try statement.run()
            }
            return true
        }
        noteDeleted(changes.count)
    }
}

extension PendingWrite {
    var hasChanged: Bool {
        switch result {
        case .success(.updated(.needsAuthentication)), .failure, nil: false
        case .success: true
        }
    }
}

extension Result {
    var isFailure: Bool {
        if case .failure = self { true } else { false }
    }
}

extension SealedItem {
    /// Binds the columns from `scope` to `data`, in the order of the schema, and the row's number.
    fileprivate func bindColumns(of statement: ItemStatement) {
        unsafe digests.octets.withUnsafeBytes { octets in
            for column in 0..<LookupDigests.columnCount {
                let start = column * LookupDigests.digestByteCount
                let digest = unsafe octets[start..<(start + LookupDigests.digestByteCount)]
                if unsafe digest.allSatisfy({ $0 == 0 }) {
                    statement.bind(CInt(column + 1), nil)
                } else {
                    unsafe statement.bind(CInt(column + 1), UnsafeRawBufferPointer(rebasing: digest))
                }
            }
        }
        statement.bind(6, attributes)
        statement.bind(7, keys)
        statement.bind(8, data)
        statement.bind(9, row)
    }

    fileprivate func contribution(_ context: ItemContext) throws(KeychainError) -> SIMD4<UInt64> {
        let key = try context.itemSet
        return unsafe reference.withUnsafeBytes { reference in
            unsafe attributes.withUnsafeBytes { attributes in
                unsafe ItemSetDigest.contribution(
                    reference: reference,
                    generation: generation,
                    attributes: attributes,
                    key: key
                )
            }
        }
    }
}
