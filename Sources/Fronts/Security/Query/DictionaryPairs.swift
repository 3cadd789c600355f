import CoreFoundation
import Foundation

extension NSDictionary {
    /// The keys and values, with Booleans as `Bool`, so that they are not mistaken for numbers.
    ///
    /// Foundation's iterator looks up each value by its key, which is slower, and traps on NaN.
    var pairs: some Sequence<(Any, Any)> {
        zip(allKeys, allValues).lazy.map { key, value in
            guard let number = value as? NSNumber, number.isTruthValue else { return (key, value) }
            return (key, number.boolValue)
        }
    }
}

/// A key or value as text; nil if it is not text.
///
/// Casts to `NSString` first, which nearly all are: casting to `String` takes five times as long.
func text(_ value: Any) -> String? { (value as? NSString).map { $0 as String } ?? value as? String }
