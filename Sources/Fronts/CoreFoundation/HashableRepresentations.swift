public import Foundation

// Apple's Foundation makes `AnyHashable(NSString)` equal to `AnyHashable(String)`, and so for numbers and dates; the one on Linux
// does so for `NSData` and `NSUUID` alone. Without it `(result as? [[AnyHashable: Any]])?[0][kSecAttrAccount]` finds nothing, and
// `NSDictionary.isEqual(to:)` is false. The runtime looks these conformances up: they hold in the whole program, whatever a
// file imports. An app that has declared the same for itself removes its declaration.

extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    /// As the text itself.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}

extension NSNumber: @retroactive _HasCustomAnyHashableRepresentation {
    /// As the truth value or the number itself.
    public func _toCustomAnyHashable() -> AnyHashable? {
        if isTruthValue { return AnyHashable(boolValue) }
        // One letter: the code of a C type, as `@encode` writes it.
        switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): return AnyHashable(doubleValue)
        case UInt8(ascii: "Q"): return AnyHashable(uint64Value)
        default: return AnyHashable(int64Value)
        }
    }
}

extension NSDate: @retroactive _HasCustomAnyHashableRepresentation {
    /// As the date itself.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as Date) }
}
