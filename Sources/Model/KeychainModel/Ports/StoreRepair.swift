/// The items that differ from their last stored state, by name where known, and the result of a repair.
public struct StoreRepair: Sendable, Equatable {
    /// The fault of an item.
    public enum Finding: UInt8, Sendable, CaseIterable {
        /// It is an older version of itself; later changes are lost. A repair keeps the older version.
        case older = 1
        /// It cannot be opened. A repair omits it.
        case damaged = 2
        /// It was deleted and has reappeared. A repair omits it.
        case deleted = 3
    }

    /// An item with a fault.
    public struct Item: Sendable, Equatable {
        /// The fault.
        public let finding: Finding
        /// The group it belongs to.
        public let group: String
        /// A name by which a user may recognise it; nil if it cannot be read.
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

    /// The items with a fault, at most ``mostItems``.
    public var items: [Item] = []
    /// How many more there are.
    public var unnamed = 0
    /// How many are missing from the file; their names are unknown.
    public var missing = 0
    /// How many a repair keeps, including older ones.
    public var kept = 0
    /// Whether the log of the last changes is damaged.
    public var isLogDamaged = false
    /// Whether everything in the damaged log was recovered.
    public var isLogSaved = false
    /// Whether the record of which items exist is damaged: then older and missing items cannot be told.
    public var isRecordDamaged = false
    /// Whether the file itself is damaged besides the items.
    public var isFileDamaged = false
    /// The name under which the former file was kept; nil if nothing was changed.
    public var keptAside: String?

    /// No faults yet.
    public init() {}

    /// Whether there are no faults.
    public var isWell: Bool {
        items.isEmpty && unnamed == 0 && missing == 0 && !isLogDamaged && !isRecordDamaged && !isFileDamaged
    }

    /// Lists an item, or counts it if there are too many.
    public mutating func note(_ item: Item) {
        if items.count < Self.mostItems { items.append(item) } else { unnamed += 1 }
    }
}

extension DriverCause {
    /// The items' log was flushed but has changed since: `touchstone repair` recovers its contents.
    public static let logDamaged = DriverCause(.logDamaged)
    /// The record of all items is not authentic: which items are the newest cannot be told.
    public static let setDamaged = DriverCause(.setDamaged)
}
