internal import KeychainModel

/// SQLite's check of a store's structure, which requests interrupt: then it is begun again, a few times.
///
/// If it was interrupted each time, the indexes are read one by one: one without entries, which no row leads to, may be
/// damaged too.
struct StructureCheck {
    private static let mostTries = 3

    private var tries = 0
    /// What it found; nil unless it was made to its end: then each row's entries in the indexes suffice.
    private(set) var faults: [String]?

    /// The indexes that are still to be read.
    private var indexes = ItemIndex.allCases[...]

    /// Whether nothing is left to do.
    var isDone: Bool { faults != nil || tries == Self.mostTries && indexes.isEmpty }

    /// Makes a try, which ends early once `isAwaited` returns true, or reads an index.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if an index cannot be read.
    mutating func run(
        on store: ItemStore,
        unless isAwaited: @escaping @Sendable () -> Bool
    ) throws(KeychainError) {
        guard tries < Self.mostTries else {
            try indexes.popFirst()?.read(in: store.database)
            return
        }
        tries += 1
        store.forgetStructure()
        do throws(KeychainError) {
            faults = try store.structureFaults(unless: isAwaited)
        } catch {
            guard error.cause == .interrupted else { throw error }
        }
    }
}
