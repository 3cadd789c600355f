public import Foundation

/// `CFString`: `kSec…` constants and messages are of this type.
public typealias CFString = NSString
/// `CFDictionary`: what a query is given as.
public typealias CFDictionary = NSDictionary
/// `CFMutableDictionary`: a query that is built step by step.
public typealias CFMutableDictionary = NSMutableDictionary
/// `CFArray`: many results.
public typealias CFArray = NSArray
/// `CFMutableArray`.
public typealias CFMutableArray = NSMutableArray
/// `CFData`: an item's data.
public typealias CFData = NSData
/// `CFMutableData`.
public typealias CFMutableData = NSMutableData
/// `CFNumber`.
public typealias CFNumber = NSNumber
/// `CFBoolean`: there is one type for numbers and truth values here.
public typealias CFBoolean = NSNumber
/// `CFDate`.
public typealias CFDate = NSDate
/// `CFUUID`.
public typealias CFUUID = NSUUID
/// `CFURL`.
public typealias CFURL = NSURL
/// `CFNull`.
public typealias CFNull = NSNull
/// `CFError`: comes out of functions as `Unmanaged<CFError>`.
public typealias CFError = NSError
/// `CFTypeRef`: any object.
public typealias CFTypeRef = AnyObject
/// `CFIndex`.
public typealias CFIndex = Int
/// `CFTypeID`: tells types apart, see ``CFGetTypeID(_:)``.
public typealias CFTypeID = UInt
/// `CFOptionFlags`: the raw value of option sets.
public typealias CFOptionFlags = UInt
/// `CFHashCode`.
public typealias CFHashCode = UInt
/// `CFTimeInterval`, in seconds.
public typealias CFTimeInterval = Double
/// `CFAbsoluteTime`: seconds since 2001-01-01 00:00:00 UTC.
public typealias CFAbsoluteTime = CFTimeInterval

/// `CFAllocator`: only the default one exists, which is nil.
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
