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
        case delete(ItemDeletion)
        case replace(ItemSwap)
        case erase(ItemErasure)
        case merge(ItemMerge)
        /// A use of a private key that may be used only so often, or whose signatures are counted.
        case countUse(of: [UInt8], most: UInt32)
    }

    enum Outcome {
        case added
        case updated(Int)
        case deleted(ItemDeletion.Part)
        case replaced(Replacement)
        case erased(ItemErasure.Part)
        case merged(ItemMerge.Part)
        /// The number of the use.
        case counted(UInt32)
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

    /// Whether it was refused because the files were replaced.
    var isRefusedByPlace: Bool {
        if case .failure(let error)? = result { error.cause?.known == .filesReplaced } else { false }
    }

    /// Whether it is a part of a deletion that more parts follow.
    var isUnfinished: Bool {
        switch result {
        case .success(.deleted(let part)): part.progress.isUnfinished
        case .success(.erased(let part)): part.progress.isUnfinished
        case .success(.merged(let part)): part.isUnfinished
        default: false
        }
    }

    var hasChanged: Bool {
        switch result {
        case .success(.added), .success(.updated), .success(.deleted), .success(.counted): true
        case .success(.replaced(let outcome)): outcome != .unchanged
        case .success(.erased(let part)): part.outcome.deleted > 0
        case .success(.merged(let part)): part.hasChanged
        case .success(.needsUser), .success(.stale), .failure, nil: false
        }
    }
}

extension Result {
    var isFailure: Bool {
        if case .failure = self { true } else { false }
    }
}

/// A deletion of all items that a search finds, part by part.
final class ItemDeletion {
    /// The most items deleted with one commit, and the most that are looked at for them: less than 50 ms.
    static let mostItems = 512
    static let mostRows = 4096

    /// How far a search has come, part by part.
    struct Progress {
        /// The last row that was looked at.
        var row: Int64 = 0
        /// Whether an item was found so far, valid or invalidated.
        var hasFound = false
        /// Whether there may be more.
        var isUnfinished = true
    }

    /// What was deleted so far.
    struct Part {
        var progress = Progress()
        /// The number of items.
        var count = 0
    }

    let search: ItemSearch
    /// All parts that are durable.
    var done = Part()

    init(_ search: ItemSearch) { self.search = search }
}

/// An update of all items that a search finds.
final class ItemUpdate {
    let search: ItemSearch
    let groups: [AccessGroup]
    let changes: Box<ItemChanges>
    let authorization: ItemAuthorization
    let password: Key?
    let time: Int64
    /// The progress of the request, whose task may not be the one that writes.
    let progress = WorkProgress.current

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
