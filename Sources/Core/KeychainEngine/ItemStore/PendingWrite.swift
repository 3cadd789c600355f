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
    /// Whether a thread blocks until the write is done; it must not wait for hardware.
    let holdsThread: Bool
    var result: Result<Outcome, KeychainError>?
    private let whenDone: ((Result<Outcome, KeychainError>?) -> Void)?

    /// `whenDone` gets nil if the change was not committed because the TPM's counter must advance first, which a write
    /// with `holdsThread` does not wait for: the caller retries it as a task.
    init(
        _ operation: Operation,
        holdsThread: Bool = false,
        whenDone: ((Result<Outcome, KeychainError>?) -> Void)? = nil
    ) {
        self.operation = operation
        self.holdsThread = holdsThread
        self.whenDone = whenDone
    }

    /// Reports the result to the caller.
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

/// A noncopyable value shared by the engine and its caller.
final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value

    init(_ value: consuming Value) { self.value = value }
}
