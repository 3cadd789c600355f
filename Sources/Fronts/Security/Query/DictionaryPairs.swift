import CoreFoundation
import Foundation

extension NSDictionary {
    /// Its keys and values; truth values as `Bool`, so that none is taken for a number.
    ///
    /// Foundation's iterator looks each value up by its key, which takes longer, and traps on a NaN.
    var pairs: some Sequence<(Any, Any)> {
        zip(allKeys, allValues).lazy.map { key, value in
            guard let number = value as? NSNumber, number.isTruthValue else { return (key, value) }
            return (key, number.boolValue)
        }
    }
}

/// A key or a value as text; nil for what is none.
///
/// By way of `NSString`, which nearly all are: casting to `String` takes five times as long.
func text(_ value: Any) -> String? { (value as? NSString).map { $0 as String } ?? value as? String }
