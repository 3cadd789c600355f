internal import Crypto
internal import Foundation
internal import GRDB
internal import KeychainModel
internal import SecretMemory

extension ItemStore {
    /// Commits all of `writes` together, durably; each has its result then.
    ///
    /// One that fails takes back its own changes only; a commit that fails, those of all.
    func commit(_ writes: [PendingWrite], _ context: ItemContext) {
        do throws(KeychainError) {
            try reopenIfNeeded(context)
            let writes = try admit(writes)
            guard !writes.isEmpty else { return }
            let former = itemSet
            do throws(KeychainError) {
                try database.perform { database in
                    try database.inTransaction(.immediate) {
                        for write in writes {
                            try self.run(write, alone: writes.count == 1, context, database)
                        }
                        guard writes.contains(where: \.hasChanged) else { return .rollback }
                        if let itemSet = self.itemSet {
                            let key = try context.keys.require(.itemSet)
                            try self.write(itemSet, with: key, storeID: context.storeID, in: database)
                        }
                        return .commit
                    }
                }
                // Rolled back because nothing changed: the digest did not either.
            } catch {
                itemSet = former
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
        _ context: ItemContext,
        _ database: Database
    ) throws {
        let former = itemSet
        do {
            if alone {
                write.result = .success(try perform(write.operation, context, database))
            } else {
                try database.inSavepoint {
                    write.result = .success(try self.perform(write.operation, context, database))
                    return .commit
                }
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
        _ context: ItemContext,
        _ database: Database
    ) throws -> PendingWrite.Outcome {
        switch operation {
        case .add(let item):
            try makeRoom(for: item, besides: nil, context, database)
            try insert(item, context, database)
            return .added
        case .update(let update): return .updated(try run(update, context, database))
        case .delete(let search): return .deleted(try delete(search, context, database))
        }
    }

    // MARK: Add

    /// Refuses an item whose primary key is taken, and removes an invalidated one that has it.
    private func makeRoom(
        for item: SealedItem,
        besides own: Int64?,
        _ context: ItemContext,
        _ database: Database
    ) throws {
        let metadata = try context.keys.require(.metadata).symmetric
        let statement = try database.cachedStatement(
            sql: "SELECT id, reference, attributes, keys, data FROM items WHERE name = ? AND variant = ?"
        )
        let arguments: StatementArguments = [Data(item.digests.name), Data(item.digests.variant)]
        guard let row = try Row.fetchOne(statement, arguments: arguments) else { return }
        let taken = try ItemRow(row)
        guard taken.id != own else { return }
        let isInvalidated: Bool
        do {
            isInvalidated = try taken.open(with: metadata, in: context) {
                $0.accessControl(atEpoch: context.epoch) == nil
            }
        } catch {
            throw KeychainError.damaged
        }
        guard isInvalidated else { throw KeychainError(.duplicateItem) }
        try remove(taken, metadata, context, database)
    }

    private func insert(_ item: SealedItem, _ context: ItemContext, _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO items (reference, scope, name, variant, first, second, label, attributes, keys, data) \
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        try statement.execute(
            arguments: StatementArguments([Data(item.reference).databaseValue] + item.columns)
        )
        itemSet?.insert(try item.contribution(context))
    }

    // MARK: Delete

    private func delete(_ search: ItemSearch, _ context: ItemContext, _ database: Database) throws -> Int {
        let found = try find(search, authorization: nil, context, database)
        let metadata = try context.keys.require(.metadata).symmetric
        for id in found.valid + found.invalidated {
            try remove(try row(id, database), metadata, context, database)
        }
        return found.valid.count
    }

    private func remove(
        _ row: ItemRow,
        _ metadata: SymmetricKey,
        _ context: ItemContext,
        _ database: Database
    ) throws {
        let setKey = try context.keys.require(.itemSet).symmetric
        let generation = try row.open(with: metadata, in: context) { $0.generation }
        let contribution = row.contribution(generation: generation, key: setKey)
        try database.cachedStatement(sql: "DELETE FROM items WHERE id = ?").execute(arguments: [row.id])
        itemSet?.remove(contribution)
        noteDeleted(1)
    }

    private func row(_ id: Int64, _ database: Database) throws -> ItemRow {
        let statement = try database.cachedStatement(
            sql: "SELECT id, reference, attributes, keys, data FROM items WHERE id = ?"
        )
        // A copy: the row is changed while it is looked at.
        guard let row = try Row.fetchOne(statement, arguments: [id]) else { throw KeychainError.damaged }
        return try ItemRow(row)
    }

    private struct Found {
        var valid: [Int64] = []
        var invalidated: [Int64] = []
        var needed: [AccessControl] = []
    }

    /// Finds all items of a search.
    ///
    /// Without an authorisation no item is opened, and none is asked for.
    private func find(
        _ search: ItemSearch,
        authorization: ItemAuthorization?,
        _ context: ItemContext,
        _ database: Database
    ) throws -> Found {
        let metadata = try context.keys.require(.metadata).symmetric
        var found = Found()
        var isDamageSeen = false
        try ItemRow.forEach(database, search.source, after: 0) { row in
            do {
                try row.open(with: metadata, in: context) { header in
                    guard search.matches(header) else { return }
                    let proofs = authorization ?? ItemAuthorization()
                    switch try ItemOpening(header, authorization: proofs, epoch: context.epoch) {
                    case .invalidated: found.invalidated.append(row.id)
                    case .needsUser(let control) where authorization != nil:
                        if !found.needed.contains(control) { found.needed.append(control) }
                    case .never(let error) where authorization != nil: throw KeychainError(error)
                    case .open, .needsUser, .never: found.valid.append(row.id)
                    }
                }
            } catch is AEAD.NotAuthentic {
                isDamageSeen = true
            }
            return true
        }
        if isDamageSeen { throw KeychainError.damaged }
        if found.valid.isEmpty, found.needed.isEmpty, found.invalidated.isEmpty {
            throw mayHideItems ? KeychainError.damaged : KeychainError(.itemNotFound)
        }
        return found
    }

    // MARK: Update

    private func run(
        _ update: ItemUpdate,
        _ context: ItemContext,
        _ database: Database
    ) throws -> UpdateOutcome {
        let found = try find(update.search, authorization: update.authorization, context, database)
        guard found.needed.isEmpty else { return .needsAuthentication(found.needed) }
        guard !found.valid.isEmpty else { throw KeychainError(.itemNotFound, cause: .invalidated) }
        for id in found.valid { try change(try row(id, database), update, context, database) }
        return .updated(found.valid.count)
    }

    private func change(
        _ row: ItemRow,
        _ update: ItemUpdate,
        _ context: ItemContext,
        _ database: Database
    ) throws {
        let metadata = try context.keys.require(.metadata).symmetric
        let setKey = try context.keys.require(.itemSet).symmetric
        let sealed = try row.open(with: metadata, in: context) { header in
            try self.reseal(row, header, update, context)
        }
        try makeRoom(for: sealed, besides: row.id, context, database)
        let statement = try database.cachedStatement(
            sql: """
                UPDATE items SET scope = ?, name = ?, variant = ?, first = ?, second = ?, label = ?, \
                attributes = ?, keys = ?, data = ? WHERE id = ?
                """
        )
        try statement.execute(arguments: StatementArguments(sealed.columns + [row.id.databaseValue]))
        itemSet?.remove(row.contribution(generation: sealed.generation - 1, key: setKey))
        itemSet?.insert(try sealed.contribution(context))
        noteDeleted(1)
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
        content.accessControl = update.changes.accessControl ?? control
        content.attributes.merge(update.changes.attributes) { $1 }
        switch update.changes.attributes[.accessGroup] {
        case .string(let name):
            guard update.groups.contains(where: { $0.name == name }) else {
                throw KeychainError(.missingEntitlement)
            }
            content.group = name
        case .some: throw KeychainError(.param)
        case nil: break
        }
        content.modified = update.time
        content.generation += 1
        // Opened even where new data come: who cannot open an item cannot replace what is in it.
        let proofs = update.authorization.proofs.filter { control.covered(by: $0, for: .useItem) }
        let old = try row.openData(header, control, proofs: proofs, password: update.password, context)
        let reference = Array(row.reference)
        if update.changes.data != nil {
            let password = update.password
            return try content.sealed(
                reference: reference,
                data: update.changes.data,
                password: password,
                in: context
            )
        }
        return try content.sealed(reference: reference, data: old, password: update.password, in: context)
    }
}

extension ItemStore {
    /// Deletes the wraps of items whose enrolled set is gone; their key was destroyed before.
    ///
    /// - Returns: how many items can never be opened again.
    func dropCurrentSetWraps(_ context: ItemContext) throws(KeychainError) -> Int {
        try reopenIfNeeded(context)
        let metadata = try context.keys.require(.metadata).symmetric
        return try database.perform { database in
            var changes: [(id: Int64, keys: Data?)] = []
            try ItemRow.forEach(database) { row in
                guard let row, let keys = row.keys else { return }
                let isBound = try? row.open(with: metadata, in: context) {
                    $0.epoch != 0 && $0.epoch != context.epoch
                }
                guard isBound == true else { return }
                changes.append((row.id, ItemKeyWrap.withoutCurrentSet(keys)))
            }
            guard !changes.isEmpty else { return 0 }
            try database.inTransaction(.immediate) {
                let statement = try database.cachedStatement(sql: "UPDATE items SET keys = ? WHERE id = ?")
                for change in changes {
                    try statement.execute(arguments: [change.keys, change.id])
                }
                return .commit
            }
            self.noteDeleted(changes.count)
            return changes.count { $0.keys == nil }
        }
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
    /// The values of the columns from `scope` to `data`.
    var columns: [DatabaseValue] {
        let digests: [[UInt8]?] = [
            digests.scope, digests.name, digests.variant, digests.first, digests.second, digests.label,
        ]
        let blobs = digests.map { $0.map { Data($0) } } + [attributes, keys, data]
        return blobs.map { $0?.databaseValue ?? .null }
    }

    func contribution(_ context: ItemContext) throws(KeychainError) -> SIMD4<UInt64> {
        let key = try context.keys.require(.itemSet).symmetric
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
