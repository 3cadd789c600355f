internal import KeychainModel
internal import SecretMemory

/// The names of access groups that were seen, from any thread: where else an item that was not found may be.
final class KnownGroups: Sendable {
    /// The most that are kept; beyond, one may be left out of an answer.
    private static let most = 256

    private struct State {
        var names: Set<String> = []
        /// Whether all items were looked at since the keys came.
        var isComplete = false
    }
    private let state = Guarded(State())

    /// Notes a group that has an item.
    func note(_ name: String) {
        state.withLock { state in
            guard state.names.count < Self.most else { return }
            state.names.insert(name)
        }
    }

    /// All items were looked at.
    func complete() { state.withLock { $0.isComplete = true } }

    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// The groups of programs, by their paths, that are not among `groups`.
    func programs(outside groups: [AccessGroup]) -> [String] {
        state.withLock { state in
            state.names.filter { name in name.hasPrefix("/") && !groups.contains { $0.name == name } }
                .sorted()
        }
    }
}
