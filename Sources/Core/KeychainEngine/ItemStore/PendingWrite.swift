internal import Dispatch
internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// A change that waits for the next commit.
final class PendingWrite {
    enum Operation {
        /// An item, and the keys it was sealed with.
        case add(SealedItem, in: ItemContext)
        case update(ItemUpdate)
        case delete(ItemSearch)
        case replace(ItemSwap)
        case erase(ItemErasure)
    }

    enum Outcome {
        case added
        case updated(Int)
        case deleted(Int)
        case replaced(Replacement)
        case erased(Erasure)
        /// Not done: the user must satisfy these access controls first.
        case needsUser([AccessControl])
        /// Not done: the item was sealed with other keys than the present ones.
        case stale
    }

    let operation: Operation
    /// Nil until it was committed or refused.
    var result: Result<Outcome, KeychainError>?
    /// Whether the hardware has yet to count the store's generation.
    var isBehind = false
    /// Signalled when there is a result, or when the write's thread is the one to commit; nil if no thread waits.
    var turn: DispatchSemaphore?

    init(_ operation: Operation) { self.operation = operation }

    /// Whether it adds an item that was sealed with other keys.
    func isStale(in context: ItemContext) -> Bool {
        if case .add(_, let sealing) = operation { sealing !== context } else { false }
    }

    var hasChanged: Bool {
        switch result {
        case .success(.added), .success(.updated), .success(.deleted): true
        case .success(.replaced(let outcome)): outcome != .unchanged
        case .success(.erased(let erasure)): erasure.deleted > 0
        case .success(.needsUser), .success(.stale), .failure, nil: false
        }
    }
}

extension Result {
    var isFailure: Bool {
        if case .failure = self { true } else { false }
    }
}

/// An update of all items that a search finds.
final class ItemUpdate {
    let search: ItemSearch
    let groups: [AccessGroup]
    let changes: Box<ItemChanges>
    let authorization: ItemAuthorization
    let password: Key?
    let time: Int64

    init(
        search: ItemSearch,
        groups: [AccessGroup],
        changes: Box<ItemChanges>,
        authorization: ItemAuthorization,
        password: Key?,
        time: Int64
    ) {
        self.search = search
        self.groups = groups
        self.changes = changes
        self.authorization = authorization
        self.password = password
        self.time = time
    }
}

extension ItemUpdate {
    /// The group the items move to; nil if they stay.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that the caller may not use.
    var group: AccessGroup? {
        get throws(KeychainError) {
            guard let value = changes.value.attributes[.accessGroup] else { return nil }
            guard case .string(let name) = value else { throw KeychainError(.param) }
            guard let group = groups.first(where: { $0.name == name }) else {
                throw KeychainError(.missingEntitlement)
            }
            return group
        }
    }
}

/// A noncopyable value with several owners.
final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value

    init(_ value: consuming Value) { self.value = value }
}
