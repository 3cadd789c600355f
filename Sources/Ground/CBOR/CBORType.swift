/// The type of the next item.
public enum CBORType: Sendable, Hashable {
    /// An unsigned integer (major type 0).
    case unsigned
    /// A negative integer (major type 1).
    case negative
    /// A byte string (major type 2).
    case bytes
    /// A text string (major type 3).
    case text
    /// An array (major type 4).
    case array
    /// A map (major type 5).
    case map
    /// A tag (major type 6).
    case tag
    /// False or true.
    case bool
    /// Null.
    case null
    /// Undefined.
    case undefined
    /// Another simple value.
    case simple
    /// A floating-point number.
    case float
}
