import Foundation

extension NSDictionary {
    /// Its keys and values; null for a key that its own dictionary does not find, as a NaN.
    ///
    /// Foundation's iterator traps on such a key.
    var pairs: [(Any, Any)] { allKeys.map { ($0, object(forKey: $0) ?? NSNull()) } }
}
