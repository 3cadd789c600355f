internal import KeychainModel
internal import Primitives

/// How often each private key with a limited number of uses, or with counted signatures, was used: a row of its own from the first use
/// on.
///
/// As the row of a deleted key it is sealed and has a tag like an item's, but no group, so that no query finds it. With hardware that
/// counts the store's generation, no older copy gives a use or a number back; without it, a copy of all files does.
extension ItemStore {
    /// A row that counts uses.
    private struct Counted {
        let old: OldRow
        let reference: [UInt8]
        let content: ItemContent
    }

    /// The uses of a key so far; all tags must have been read.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if the row is damaged or missing.
    func uses(of id: [UInt8], _ context: ItemContext) throws(KeychainError) -> UInt32 {
        try ItemDatabase.translatingErrors { try counted(id, context) }?.content.uses ?? 0
    }

    /// Counts one more use; inside a transaction.
    ///
    /// - Returns: its number.
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/usedUp`` if there were `most`, ``DriverCause/deleted`` for a deleted
    ///   key.
    func countUse(of id: [UInt8], most: UInt32, _ context: ItemContext) throws -> UInt32 {
        guard !hasEnded(id, context) else { throw KeychainError.keyDeleted }
        var number: UInt32 = 1
        if let counted = try counted(id, context) {
            guard let uses = counted.content.uses, uses < most else { throw KeychainError.keyUsedUp }
            number = uses + 1
            var content = ItemContent(uses: number, of: id)
            content.generation = counted.content.generation + 1
            let item = try content.sealed(
                row: counted.old.id,
                reference: counted.reference,
                data: nil,
                password: nil,
                in: context
            )
            try change(counted.old, to: item, isFoundElsewhere: false, context)
        } else {
            try limits.check(items: itemSet.tags.count + 1)
            let first = ItemContent(uses: number, of: id)
            try insert(try first.sealed(row: rows.take(), data: nil, password: nil, in: context), context)
        }
        // No older copy may give the use back.
        hasRemovedProtected = true
        return number
    }

    /// Removes the count of a key that is deleted.
    func removeUses(of id: [UInt8], _ context: ItemContext) throws {
        if let counted = try counted(id, context) { try remove(counted.old, context) }
    }

    private func counted(_ id: [UInt8], _ context: ItemContext) throws -> Counted? {
        let wanted = ItemContent(uses: 0, of: id)
        let name = context.lookup.name(wanted.attributes, wanted.itemClass, wanted.group)
        guard !itemSet.tags.names[name].isEmpty else { return nil }
        var found: Counted?
        do {
            let digests = try wanted.makeDigests(in: context)
            try ItemRow.forEach(database, .name(digests[.name]), after: 0, tags: itemSet.tags) { row in
                guard row.isCurrent(itemSet.tags[row.id]) else { throw AEAD.NotAuthentic() }
                try row.open(in: context) { header in
                    let content = try ItemContent(header)
                    guard header.isKeyRow,
                        content.attributes[.applicationLabel] == wanted.attributes[.applicationLabel]
                    else { return }
                    found = Counted(
                        old: try OldRow(row, header, context),
                        reference: unsafe Array(row.reference),
                        content: content
                    )
                }
                return found == nil
            }
        } catch is AEAD.NotAuthentic {
            throw KeychainError.damaged
        }
        return found
    }
}

extension ItemContent {
    /// The row that counts a key's uses.
    fileprivate init(uses: UInt32, of id: [UInt8]) {
        self.init(
            itemClass: .key,
            group: "",
            // One byte more than the row of a deleted key has.
            attributes: [.applicationLabel: .data(id + [1]), .keyUses: .integer(Int64(uses))],
            accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
            created: 0
        )
    }

    /// The count in it; nil for another row.
    fileprivate var uses: UInt32? {
        guard case .integer(let uses)? = attributes[.keyUses] else { return nil }
        return UInt32(exactly: uses)
    }
}

extension SealedItems {
    /// How often a key may still be used; nil for any number.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/usedUp`` if there is no use left; an error if the items cannot be
    ///   read, so that it is unknown.
    func usesLeft(of key: PrivateKeyRecord) throws(KeychainError) -> UInt32? {
        guard let most = key.limits.uses else { return nil }
        let id = key.id
        let uses = try withState { (state) throws(KeychainError) in
            let context = try keys.context()
            let store = try usableStore(&state, context)
            try store.readWholeSet(context)
            do throws(KeychainError) {
                return try store.uses(of: id, context)
            } catch {
                noteDamage(error, &state)
                throw error
            }
        }
        guard uses < most else { throw .keyUsedUp }
        return most - uses
    }

    /// Counts a use of a key whose number of uses is limited, or whose signatures are counted, durably.
    ///
    /// - Returns: the number of the use, and whether the hardware has yet to count the store's generation; nil for another key.
    func countUse(of key: PrivateKeyRecord) throws(KeychainError) -> (number: UInt32, isBehind: Bool)? {
        guard let most = key.limits.mostCounted else { return nil }
        let (outcome, isBehind) = try commit(.countUse(of: key.id, most: most))
        guard case .counted(let number) = outcome else { throw KeychainError(.internalComponent) }
        return (number, isBehind)
    }
}

extension KeychainError {
    /// A private key without a use left.
    fileprivate static var keyUsedUp: KeychainError { KeychainError(.itemNotFound, cause: .usedUp) }
}
