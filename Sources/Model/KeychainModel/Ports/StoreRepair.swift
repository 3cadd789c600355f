/// What of the items is not as it was left, by name as far as names can be known, and what a repair made of it.
public struct StoreRepair: Sendable, Equatable {
    /// What is wrong with an item.
    public enum Finding: UInt8, Sendable, CaseIterable {
        /// It is an older state of itself; what was stored since is lost. A repair keeps the older state.
        case older = 1
        /// It cannot be opened. A repair leaves it out.
        case damaged = 2
        /// It was deleted, and came back. A repair leaves it out.
        case deleted = 3
    }

    /// An item that something is wrong with.
    public struct Item: Sendable, Equatable {
        /// What is wrong.
        public let finding: Finding
        /// Whose it is.
        public let group: String
        /// What a person may know it by; nil where that cannot be read.
        public let name: String?

        /// Describes an item.
        public init(_ finding: Finding, group: String, name: String?) {
            self.finding = finding
            self.group = group
            self.name = name
        }
    }

    /// The most items that are named.
    public static let mostItems = 1000

    /// Those that something is wrong with, at most ``mostItems``.
    public var items: [Item] = []
    /// How many more there are.
    public var unnamed = 0
    /// How many are gone from the file; nothing says their names.
    public var missing = 0
    /// How many a repair keeps, older ones among them.
    public var kept = 0
    /// Whether the log of the last changes is damaged.
    public var isLogDamaged = false
    /// Whether all that the damaged log held was put right.
    public var isLogSaved = false
    /// Whether the record that says which items there are is damaged: then nothing says which are older or missing.
    public var isRecordDamaged = false
    /// Whether the file itself is damaged beside the items.
    public var isFileDamaged = false
    /// Under which name the former file was kept; nil where nothing was changed.
    public var keptAside: String?

    /// Nothing wrong yet.
    public init() {}

    /// Whether nothing is wrong.
    public var isWell: Bool {
        items.isEmpty && unnamed == 0 && missing == 0 && !isLogDamaged && !isRecordDamaged && !isFileDamaged
    }

    /// Notes an item, or counts it where there are too many.
    public mutating func note(_ item: Item) {
        if items.count < Self.mostItems { items.append(item) } else { unnamed += 1 }
    }
}

extension DriverCause {
    /// The log of the items was flushed and is not what was written: `touchstone repair` saves what it holds.
    public static let logDamaged = DriverCause(.logDamaged)
    /// The record of all items is not authentic: nothing says which items are the newest.
    public static let setDamaged = DriverCause(.setDamaged)
}
