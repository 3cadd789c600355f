internal import KeychainModel
internal import SecretMemory

/// The known names of access groups, usable from any thread: other groups in which a missing item may be.
final class KnownGroups: Sendable {
    /// The most names kept; beyond, a group may be missing from an answer.
    private static let most = 256

    private struct State {
        var names: Set<String> = []
        /// Whether all items were read since the first unlock.
        var isComplete = false
    }
    private let state = Guarded(State())

    /// Records a group that has an item.
    func note(_ name: String) {
        state.withLock { state in
            guard state.names.count < Self.most else { return }
            state.names.insert(name)
        }
    }

    /// Records that all items were read.
    func complete() { state.withLock { $0.isComplete = true } }

    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// The own groups of programs, named by their paths, that are not among `groups`.
    func programs(outside groups: [AccessGroup]) -> [String] {
        state.withLock { state in
            state.names.filter { name in name.hasPrefix("/") && !groups.contains { $0.name == name } }
                .sorted()
        }
    }
}
