public import Foundation

/// `CFDictionaryKeyCallBacks`: empty here, because keys are always objects that are retained and compared.
public struct CFDictionaryKeyCallBacks: Sendable {
    /// `CFDictionaryKeyCallBacks()`.
    public init() {}
}

/// `CFDictionaryValueCallBacks`: empty here, because values are always objects that are retained.
public struct CFDictionaryValueCallBacks: Sendable {
    /// `CFDictionaryValueCallBacks()`.
    public init() {}
}

// Variables, because callers take their addresses; they have no content that could change.
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

/// `CFDictionarySetValue`: sets or replaces a value; both pointers refer to objects (`Unmanaged.toOpaque`).
public func CFDictionarySetValue(
    _ theDict: CFMutableDictionary!,
    _ key: UnsafeRawPointer!,
    _ value: UnsafeRawPointer!
) {
    guard let key = object(at: key) as? NSObject, let value = object(at: value) else { return }
    theDict.setObject(value, forKey: key)
}

/// `CFDictionaryAddValue`: sets a value unless the key already has one.
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

/// `CFDictionaryGetValue`: the address of an object that the dictionary retains, valid as long as the dictionary; nil without
/// such a key.
public func CFDictionaryGetValue(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> UnsafeRawPointer! {
    guard let name = object(at: key) as? NSObject else { return nil }
    return OwnObjects.address(in: theDict, forKey: name)
}

/// `CFArrayGetValueAtIndex`: the address of an object that the array retains, valid as long as the array.
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

/// `CFDataCreateWithBytesNoCopy`: data in the caller's memory, which is freed with `free` after use, or with
/// ``kCFAllocatorNull`` stays the caller's and must outlive the data.
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator!,
    _ bytes: UnsafePointer<UInt8>!,
    _ length: CFIndex,
    _ bytesDeallocator: CFAllocator!
) -> CFData! {
    guard let bytes, length > 0 else {
        if bytesDeallocator == nil { free(UnsafeMutablePointer(mutating: bytes)) }
        return NSData()
    }
    return NSData(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes),
        length: length,
        freeWhenDone: bytesDeallocator == nil
    )
}

/// `CFDataGetLength`.
public func CFDataGetLength(_ theData: CFData!) -> CFIndex { theData.length }

/// `CFDataGetBytePtr`: the address of the bytes, valid as long as the data.
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
    theData.bytes.assumingMemoryBound(to: UInt8.self)
}

private func object(at address: UnsafeRawPointer?) -> AnyObject? {
    address.map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
}
