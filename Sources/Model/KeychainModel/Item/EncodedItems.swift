public import SecretMemory

/// A page of results, already in the form that crosses the wire, in memory that is locked and wiped.
///
/// Each item is one CBOR map after the other: 1 persistent reference (octets), 2 attributes (map from
/// Apple's string to value), 3 data (octets); a key is there only if it was asked for.
public struct EncodedItems: ~Copyable, Sendable {
    /// The items' encodings, one after the other.
    public var octets: SecretBuffer
    /// How many items there are.
    public var count: Int
    /// Where the next page starts; nil on the last one.
    public var next: ItemCursor?

    /// Holds a page.
    public init(octets: consuming SecretBuffer, count: Int, next: ItemCursor?) {
        self.octets = octets
        self.count = count
        self.next = next
    }
}

/// A place in a long result; opaque to all but the vault that made it.
public struct ItemCursor: Sendable, Equatable {
    /// The vault's own number of the last row on the page.
    public let row: Int64
    /// How many items were returned so far.
    public let returned: Int

    /// Marks a place.
    public init(row: Int64, returned: Int) {
        self.row = row
        self.returned = returned
    }
}

/// The keys of an item's map on the wire.
public enum ItemField {
    /// Persistent reference, bytes.
    public static let reference: UInt64 = 1
    /// Attributes, a map.
    public static let attributes: UInt64 = 2
    /// Data, bytes.
    public static let data: UInt64 = 3
    /// The item is invalidated: microseconds since 1970 at which that was seen, 0 when that is not known.
    public static let invalidated: UInt64 = 4
}
