internal import KeychainModel
internal import SecretMemory

/// The keys that are in memory, for those who open and seal with them: replaced as a whole when the keybag changes.
final class KeysInMemory: Sendable {
    /// What the present state of the keybag allows.
    struct Snapshot: Sendable {
        /// Opens and seals items; nil while no key is in memory.
        var context: ItemContext?
        /// The error for uses while ``context`` is nil.
        var refusal: KeychainError
        /// The hardware's counter of the store's generation; nil without hardware.
        var counter: [UInt8]?
    }

    private let snapshot: Guarded<Snapshot>

    init(_ standing: Standing) { snapshot = Guarded(Snapshot(standing)) }

    /// The context of the keybag.
    ///
    /// - Throws: ``KeychainError`` with `errSecInteractionNotAllowed` while it is locked, or why there are no keys.
    func context() throws(KeychainError) -> ItemContext {
        try snapshot.withLock { (snapshot) throws(KeychainError) in
            guard let context = snapshot.context else { throw snapshot.refusal }
            return context
        }
    }

    /// ``context()``; throws too if the key of the access control's class is not in memory.
    func context(for control: AccessControl) throws(KeychainError) -> ItemContext {
        let context = try context()
        _ = try context.keys.require(KeybagKeyName(control.accessibility.classKey))
        return context
    }

    var current: Snapshot { snapshot.withLock { $0 } }

    func replace(with standing: Standing) {
        let new = Snapshot(standing)
        snapshot.withLock { $0 = new }
    }
}

extension KeysInMemory.Snapshot {
    init(_ standing: Standing) {
        self.init(
            context: standing.context,
            refusal: standing.refusal,
            counter: standing.record?.hardware?.generation
        )
    }
}
