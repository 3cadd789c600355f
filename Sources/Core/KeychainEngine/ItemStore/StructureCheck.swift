internal import KeychainModel

/// SQLite's check of a store's structure, which requests interrupt: then it is begun again, a few times.
struct StructureCheck {
    private static let mostTries = 3

    private var tries = 0
    /// What it found; nil unless it was made to its end: then each row's entries in the indexes suffice.
    private(set) var faults: [String]?

    /// Whether no further try is needed.
    var isDone: Bool { faults != nil || tries == Self.mostTries }

    /// Makes a try, which ends early once `isAwaited` returns true.
    mutating func run(on store: ItemStore, unless isAwaited: () -> Bool) throws(KeychainError) {
        tries += 1
        store.forgetStructure()
        do throws(KeychainError) {
            faults = try store.structureFaults(unless: isAwaited)
        } catch {
            guard error.cause == .interrupted else { throw error }
        }
    }
}
