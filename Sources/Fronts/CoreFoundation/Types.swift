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
/// `CFSet`.
public typealias CFSet = NSSet
/// `CFMutableSet`.
public typealias CFMutableSet = NSMutableSet
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
/// `CFErrorDomain`: the name of an error's domain.
public typealias CFErrorDomain = CFString
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

/// `CFAllocator`: only the default allocator exists, which is nil, and the one that frees nothing.
public final class CFAllocator: Sendable {
    fileprivate init() {}
}

/// `kCFAllocatorDefault`: nil.
public var kCFAllocatorDefault: CFAllocator! { nil }
/// `kCFAllocatorNull`: frees nothing; for memory that the caller owns.
public let kCFAllocatorNull: CFAllocator! = CFAllocator()
/// `kCFBundleIdentifierKey`: the key of a bundle's identifier in its information.
nonisolated(unsafe) public let kCFBundleIdentifierKey: CFString! = "CFBundleIdentifier"  // immutable
/// `kCFBooleanTrue`.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)
/// `kCFBooleanFalse`.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)
/// `kCFNull`.
public let kCFNull: CFNull! = NSNull()
