public import Foundation

/// `CFString`: the type of `kSec…` constants and messages.
public typealias CFString = NSString
/// `CFDictionary`: the type of queries.
public typealias CFDictionary = NSDictionary
/// `CFMutableDictionary`: the type of queries that are built step by step.
public typealias CFMutableDictionary = NSMutableDictionary
/// `CFArray`: the type of multiple results.
public typealias CFArray = NSArray
/// `CFMutableArray`.
public typealias CFMutableArray = NSMutableArray
/// `CFData`: the type of an item's data.
public typealias CFData = NSData
/// `CFMutableData`.
public typealias CFMutableData = NSMutableData
/// `CFNumber`.
public typealias CFNumber = NSNumber
/// `CFBoolean`: numbers and Booleans have the same type here.
public typealias CFBoolean = NSNumber
/// `CFDate`.
public typealias CFDate = NSDate
/// `CFUUID`.
public typealias CFUUID = NSUUID
/// `CFURL`.
public typealias CFURL = NSURL
/// `CFNull`.
public typealias CFNull = NSNull
/// `CFError`: returned by functions as `Unmanaged<CFError>`.
public typealias CFError = NSError
/// `CFTypeRef`: any object.
public typealias CFTypeRef = AnyObject
/// `CFIndex`.
public typealias CFIndex = Int
/// `CFTypeID`: identifies a type; see ``CFGetTypeID(_:)``.
public typealias CFTypeID = UInt
/// `CFOptionFlags`: the raw value of option sets.
public typealias CFOptionFlags = UInt
/// `CFHashCode`.
public typealias CFHashCode = UInt
/// `CFTimeInterval`, in seconds.
public typealias CFTimeInterval = Double
/// `CFAbsoluteTime`: seconds since 2001-01-01 00:00:00 UTC.
public typealias CFAbsoluteTime = CFTimeInterval

/// `CFAllocator`: only the default allocator exists, which is nil.
public final class CFAllocator: Sendable {
    private init() {}
}

/// `kCFAllocatorDefault`: nil.
public var kCFAllocatorDefault: CFAllocator! { nil }
/// `kCFBooleanTrue`.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)
/// `kCFBooleanFalse`.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)
/// `kCFNull`.
public let kCFNull: CFNull! = NSNull()
