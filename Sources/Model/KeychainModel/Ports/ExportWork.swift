/// An export that is read or merged, part by part.
public protocol ExportWork: Sendable {
    /// Does the next part.
    ///
    /// - Returns: the items of this part, possibly none; nil once the end of the export was reached.
    /// - Throws: ``KeychainError`` with `errSecDecode` for a damaged export, and the errors of storing items.
    func next() async throws(KeychainError) -> [ExportedItem]?
}

/// An item of an export, and what became of it; nothing in it is secret.
public struct ExportedItem: Sendable, Equatable {
    /// What became of an item.
    public enum Outcome: UInt8, Sendable, CaseIterable {
        /// It was only read.
        case read = 0
        /// It was missing in the keychain and was added.
        case added = 1
        /// The keychain has the same item already.
        case same = 2
        /// The keychain has another item in its place, which stays; the export's was not stored.
        case kept = 3
        /// The keychain had another item in its place, which is gone.
        case replaced = 4
        /// The keychain has another item in its place; the export's was added under ``ExportedItem/newName``.
        case besides = 5
    }

    /// What became of it.
    public var outcome: Outcome
    /// Its class.
    public let itemClass: ItemClass
    /// The group it belongs to.
    public let group: String
    /// Its account, or another of its names; long ones are cut.
    public let name: String
    /// What its release requires.
    public let accessControl: AccessControl
    /// The name it was added under; nil for its own.
    public var newName: String?

    /// Describes an item.
    public init(
        _ outcome: Outcome,
        itemClass: ItemClass,
        group: String,
        name: String,
        accessControl: AccessControl,
        newName: String? = nil
    ) {
        // The names are cut as those of omitted items.
        let cut = ExportReport.LeftOut(reason: .damaged, group: group, name: name)
        self.outcome = outcome
        self.itemClass = itemClass
        self.group = cut.group
        self.name = cut.name
        self.accessControl = accessControl
        self.newName = newName.map { ExportReport.LeftOut(reason: .damaged, group: group, name: $0).name }
    }
}

/// How an export is merged into a keychain.
public struct ExportMerge: Sendable, Equatable {
    /// What happens to an item in whose place the keychain has another one.
    public enum Conflicts: UInt8, Sendable, CaseIterable {
        /// The keychain's stays, and the export's is not stored.
        case keep = 0
        /// The export's takes its place.
        case replace = 1
        /// The keychain's stays, and the export's password is added with ` (backup)` after its account.
        ///
        /// Items without an account, such as keys, are kept as with ``keep``.
        case both = 2
    }

    /// The most names in a merge.
    public static let mostNames = 1000
    /// The most bytes of a name.
    public static let longestName = 1024

    /// The names of the items to merge; empty for all of them.
    public let names: [String]
    /// What happens in a conflict.
    public let conflicts: Conflicts

    /// Describes a merge.
    public init(names: [String] = [], conflicts: Conflicts = .keep) {
        self.names = names
        self.conflicts = conflicts
    }
}
