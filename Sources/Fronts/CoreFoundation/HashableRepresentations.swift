public import Foundation

// Apple's Foundation makes `AnyHashable(NSString)` equal to `AnyHashable(String)`, and likewise for numbers and dates; Foundation
// on Linux does so only for `NSData` and `NSUUID`. Without these conformances `(result as? [[AnyHashable:
// Any]])?[0][kSecAttrAccount]` finds nothing, and `NSDictionary.isEqual(to:)` is false. The runtime looks them up, so they apply
// to the whole program, whatever a file imports. An app that declares the same conformances must remove its own.

extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    /// The text as a `String`.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}

extension NSNumber: @retroactive _HasCustomAnyHashableRepresentation {
    /// The Boolean or the number.
    public func _toCustomAnyHashable() -> AnyHashable? {
        if isTruthValue { return AnyHashable(boolValue) }
        // The type encoding of one letter, as `@encode` writes it.
        switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): return AnyHashable(doubleValue)
        case UInt8(ascii: "Q"): return AnyHashable(uint64Value)
        default: return AnyHashable(int64Value)
        }
    }
}

extension NSDate: @retroactive _HasCustomAnyHashableRepresentation {
    /// The date as a `Date`.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as Date) }
}
