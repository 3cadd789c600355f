internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// A change that waits for the next commit.
final class PendingWrite {
    enum Operation {
        case add(SealedItem)
        case update(ItemUpdate)
        case delete(ItemSearch)
    }

    enum Outcome {
        case added
        case updated(UpdateOutcome)
        case deleted(Int)
    }

    let operation: Operation
    /// Whether a thread waits for it, which is not held up for hardware.
    let holdsThread: Bool
    var result: Result<Outcome, KeychainError>?
    private let whenDone: ((Result<Outcome, KeychainError>?) -> Void)?

    /// `whenDone` gets nil when the change was not committed because the TPM's counter must advance first, which a write with
    /// `holdsThread` does not wait for: it is tried again as a task.
    init(
        _ operation: Operation,
        holdsThread: Bool = false,
        whenDone: ((Result<Outcome, KeychainError>?) -> Void)? = nil
    ) {
        self.operation = operation
        self.holdsThread = holdsThread
        self.whenDone = whenDone
    }

    /// Tells who waits.
    func tell() { whenDone?(result) }
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

/// What an update does to the items it finds.
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
    /// The group that the items go to; nil where they stay.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that is not the caller's.
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

/// A value without copies, shared by the engine and its caller.
final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value

    init(_ value: consuming Value) { self.value = value }
}
