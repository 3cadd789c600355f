public import SecretMemory

/// A page of results, already encoded for the wire, in memory that is locked and wiped.
///
/// Each item is one CBOR map, one after the other: 1 persistent reference (bytes), 2 attributes (map from Apple's
/// string to value), 3 data (bytes); a key is present only if it was requested.
public struct EncodedItems: ~Copyable, Sendable {
    /// The items' encodings, one after the other.
    public var octets: SecretBuffer
    /// How many items there are.
    public var count: Int
    /// The start of the next page; nil on the last one.
    public var next: ItemCursor?

    /// Creates a page.
    public init(octets: consuming SecretBuffer, count: Int, next: ItemCursor?) {
        self.octets = octets
        self.count = count
        self.next = next
    }
}

/// A position in a long result; opaque to all but the vault that created it.
public struct ItemCursor: Sendable, Equatable {
    /// The vault's number of the last row on the page.
    public let row: Int64
    /// How many items were returned so far.
    public let returned: Int

    /// Describes a position.
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
    /// The item is invalidated: when that was detected, in microseconds since 1970, or 0 if unknown.
    public static let invalidated: UInt64 = 4
}
