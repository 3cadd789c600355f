public import Foundation

/// `CFDictionaryKeyCallBacks`: carries nothing here, keys are always objects that are retained and compared.
public struct CFDictionaryKeyCallBacks: Sendable {
    /// `CFDictionaryKeyCallBacks()`.
    public init() {}
}

/// `CFDictionaryValueCallBacks`: carries nothing here, values are always objects that are retained.
public struct CFDictionaryValueCallBacks: Sendable {
    /// `CFDictionaryValueCallBacks()`.
    public init() {}
}

// Variables because their addresses are taken; they hold nothing that could change.
/// `kCFTypeDictionaryKeyCallBacks`.
nonisolated(unsafe) public var kCFTypeDictionaryKeyCallBacks = CFDictionaryKeyCallBacks()
/// `kCFTypeDictionaryValueCallBacks`.
nonisolated(unsafe) public var kCFTypeDictionaryValueCallBacks = CFDictionaryValueCallBacks()

/// `CFDictionaryCreateMutable`: an empty dictionary.
public func CFDictionaryCreateMutable(
    _ allocator: CFAllocator!,
    _ capacity: CFIndex,
    _ keyCallBacks: UnsafePointer<CFDictionaryKeyCallBacks>!,
    _ valueCallBacks: UnsafePointer<CFDictionaryValueCallBacks>!
) -> CFMutableDictionary! {
    NSMutableDictionary()
}

/// `CFDictionaryCreate`: a dictionary of `numValues` keys and values.
public func CFDictionaryCreate(
    _ allocator: CFAllocator!,
    _ keys: UnsafeMutablePointer<UnsafeRawPointer?>!,
    _ values: UnsafeMutablePointer<UnsafeRawPointer?>!,
    _ numValues: CFIndex,
    _ keyCallBacks: UnsafePointer<CFDictionaryKeyCallBacks>!,
    _ valueCallBacks: UnsafePointer<CFDictionaryValueCallBacks>!
) -> CFDictionary! {
    let dictionary = NSMutableDictionary()
    for index in 0..<max(0, numValues) { CFDictionarySetValue(dictionary, keys[index], values[index]) }
    return dictionary.copy() as? NSDictionary
}

/// `CFDictionarySetValue`: sets or replaces a value; both pointers are objects' (`Unmanaged.toOpaque`).
public func CFDictionarySetValue(
    _ theDict: CFMutableDictionary!,
    _ key: UnsafeRawPointer!,
    _ value: UnsafeRawPointer!
) {
    guard let key = object(at: key) as? NSObject, let value = object(at: value) else { return }
    theDict.setObject(value, forKey: key)
}

/// `CFDictionaryAddValue`: sets a value unless the key has one.
public func CFDictionaryAddValue(
    _ theDict: CFMutableDictionary!,
    _ key: UnsafeRawPointer!,
    _ value: UnsafeRawPointer!
) {
    guard let name = object(at: key), theDict.object(forKey: name) == nil else { return }
    CFDictionarySetValue(theDict, key, value)
}

/// `CFDictionaryGetCount`.
public func CFDictionaryGetCount(_ theDict: CFDictionary!) -> CFIndex { theDict.count }

/// `CFDictionaryGetValue`: the address of the object that the dictionary holds, and not longer than it; nil without such a key.
public func CFDictionaryGetValue(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> UnsafeRawPointer! {
    guard let name = object(at: key) as? NSObject else { return nil }
    return OwnObjects.address(in: theDict, forKey: name)
}

/// `CFArrayGetValueAtIndex`: the address of the object that the array holds, and not longer than it.
public func CFArrayGetValueAtIndex(_ theArray: CFArray!, _ idx: CFIndex) -> UnsafeRawPointer! {
    OwnObjects.address(in: theArray, at: idx)
}

/// `CFArrayGetCount`.
public func CFArrayGetCount(_ theArray: CFArray!) -> CFIndex { theArray.count }

/// `CFDataCreate`: a copy of `length` bytes.
public func CFDataCreate(_ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex)
    -> CFData!
{
    NSData(bytes: bytes, length: length)
}

/// `CFDataGetLength`.
public func CFDataGetLength(_ theData: CFData!) -> CFIndex { theData.length }

/// `CFDataGetBytePtr`: lives as long as the data.
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
    theData.bytes.assumingMemoryBound(to: UInt8.self)
}

private func object(at address: UnsafeRawPointer?) -> AnyObject? {
    address.map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
}
