internal import KeychainModel

/// The private keys that were deleted, each as a row of its own that takes the place of the item it was deleted with.
///
/// The row is sealed and has a tag like an item's: it is committed with the deletion, counted by the hardware, repaired and
/// moved with the items, and its absence is noticed. It has no group, so that no query finds it. It stays for good, because a
/// copy of the key's representation may. It counts towards the limit of items, at which additions are refused; a deletion is
/// not.
extension ItemStore {
    /// Whether a key was deleted; all tags must have been read.
    func hasEnded(_ id: [UInt8], _ context: ItemContext) -> Bool {
        let end = ItemContent(endOf: id)
        return !itemSet.tags.names[context.lookup.name(end.attributes, end.itemClass, end.group)].isEmpty
    }

    /// Refuses an item that would hold a deleted key.
    func check(_ held: HeldKeys, _ context: ItemContext) throws(KeychainError) {
        for id in held.ids where hasEnded(id, context) { throw .keyDeleted }
    }

    /// Ends the keys that an item held and that its new state does not; inside the transaction that changes it.
    func end(_ former: HeldKeys, unlessIn new: HeldKeys = .none, _ context: ItemContext) throws {
        for id in former.subtracting(new).ids where !hasEnded(id, context) {
            let end = ItemContent(endOf: id)
            try insert(try end.sealed(row: rows.take(), data: nil, password: nil, in: context), context)
            try removeUses(of: id, context)
            // No older copy may bring the key back.
            hasRemovedProtected = true
        }
    }
}

extension ItemContent {
    /// The row of a deleted key.
    fileprivate init(endOf id: [UInt8]) {
        self.init(
            itemClass: .key,
            group: "",
            attributes: [.applicationLabel: .data(id)],
            accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
            created: 0
        )
    }
}

extension OpenedHeader {
    /// Whether the row is no item, but stands for a deleted key or for the uses of one.
    var isKeyRow: Bool { unsafe group.isEmpty }
}

extension SealedItems {
    /// Whether a key was deleted.
    ///
    /// - Throws: ``KeychainError`` if the items cannot be read, so that it is unknown.
    func hasEnded(_ id: [UInt8]) throws(KeychainError) -> Bool {
        try withState { (state) throws(KeychainError) in
            let context = try keys.context()
            let store = try usableStore(&state, context)
            try store.readWholeSet(context)
            return store.hasEnded(id, context)
        }
    }
}

extension KeychainError {
    /// A private key that was deleted.
    static var keyDeleted: KeychainError { KeychainError(.itemNotFound, cause: .deleted) }
}
