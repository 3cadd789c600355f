public import Foundation

/// A class with a Core Foundation type identifier of its own, such as `SecAccessControl`.
public protocol CoreFoundationType: AnyObject {
    /// The result of ``CFGetTypeID(_:)`` for its instances.
    static var coreFoundationTypeID: CFTypeID { get }
}

/// The type identifiers of the types in queries and results.
private enum TypeID {
    static let unknown: CFTypeID = 1
    static let null: CFTypeID = 16
    static let string: CFTypeID = 7
    static let set: CFTypeID = 17
    static let dictionary: CFTypeID = 18
    static let array: CFTypeID = 19
    static let data: CFTypeID = 20
    static let boolean: CFTypeID = 21
    static let number: CFTypeID = 22
    static let error: CFTypeID = 27
    static let date: CFTypeID = 42
    static let uuid: CFTypeID = 45
}

/// `CFGetTypeID`: the type identifier of an object, or of a value that is bridged to one.
public func CFGetTypeID(_ cf: Any?) -> CFTypeID {
    guard let cf else { return 0 }
    switch cf as AnyObject {
    case let object as any CoreFoundationType: return type(of: object).coreFoundationTypeID
    case is NSString: return TypeID.string
    case is NSDictionary: return TypeID.dictionary
    case is NSArray: return TypeID.array
    case is NSSet: return TypeID.set
    case is NSData: return TypeID.data
    case let number as NSNumber: return number.isTruthValue ? TypeID.boolean : TypeID.number
    case is NSError: return TypeID.error
    case is NSDate: return TypeID.date
    case is NSUUID: return TypeID.uuid
    case is NSNull: return TypeID.null
    default: return TypeID.unknown
    }
}

/// `CFStringGetTypeID`.
public func CFStringGetTypeID() -> CFTypeID { TypeID.string }
/// `CFDictionaryGetTypeID`.
public func CFDictionaryGetTypeID() -> CFTypeID { TypeID.dictionary }
/// `CFArrayGetTypeID`.
public func CFArrayGetTypeID() -> CFTypeID { TypeID.array }
/// `CFSetGetTypeID`.
public func CFSetGetTypeID() -> CFTypeID { TypeID.set }
/// `CFDataGetTypeID`.
public func CFDataGetTypeID() -> CFTypeID { TypeID.data }
/// `CFBooleanGetTypeID`.
public func CFBooleanGetTypeID() -> CFTypeID { TypeID.boolean }
/// `CFNumberGetTypeID`.
public func CFNumberGetTypeID() -> CFTypeID { TypeID.number }
/// `CFErrorGetTypeID`.
public func CFErrorGetTypeID() -> CFTypeID { TypeID.error }
/// `CFDateGetTypeID`.
public func CFDateGetTypeID() -> CFTypeID { TypeID.date }
/// `CFNullGetTypeID`.
public func CFNullGetTypeID() -> CFTypeID { TypeID.null }

/// `CFEqual`: whether two objects are equal.
public func CFEqual(_ cf1: Any?, _ cf2: Any?) -> Bool {
    guard let first = cf1.map({ $0 as AnyObject }), let second = cf2.map({ $0 as AnyObject }) else {
        return false
    }
    if first === second { return true }
    guard let object = first as? NSObject else { return false }
    return object.isEqual(second)
}

/// `CFHash`: a hash consistent with ``CFEqual(_:_:)``.
public func CFHash(_ cf: Any?) -> CFHashCode {
    guard let object = cf.map({ $0 as AnyObject }) as? NSObject else { return 0 }
    return CFHashCode(bitPattern: object.hash)
}

/// `CFCopyDescription`: a description of an object, for debugging.
public func CFCopyDescription(_ cf: Any?) -> CFString? {
    guard let cf else { return nil }
    return String(describing: cf) as NSString
}

extension NSNumber {
    /// Whether the number is a Boolean.
    package var isTruthValue: Bool { self === kCFBooleanTrue || self === kCFBooleanFalse }
}
