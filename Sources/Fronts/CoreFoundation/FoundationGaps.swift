public import Foundation

// Parts of Apple's Foundation that Foundation on Linux lacks, as far as keychain code uses them.

/// `OSStatus`: the result of `SecItem` functions.
public typealias OSStatus = Int32
/// `noErr`: success.
public let noErr: OSStatus = 0
/// `NSInteger`.
public typealias NSInteger = Int
/// `NSUInteger`.
public typealias NSUInteger = UInt
/// `FourCharCode`: four characters as a number, as the creator and the type of an item are.
public typealias FourCharCode = UInt32
/// `NSErrorPointer`: accepts `&error` and nil.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

extension NSMutableDictionary {
    /// Sets a value, as key-value coding does; nil removes it.
    public func setValue(_ value: Any?, forKey key: String) {
        if let value {
            setObject(value, forKey: key as NSString)
        } else {
            removeObject(forKey: key)
        }
    }
}

/// Gives contiguous access to the bytes of `NSData`.
///
/// Without this conformance `as Data` copies byte by byte, which takes a third of a second for 1 MiB.
extension NSData: @retroactive ContiguousBytes {
    /// Calls `body` with the bytes.
    public func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: length == 0 ? nil : bytes, count: length))
    }
}

/// Runs `body`: without Objective-C no object is autoreleased.
public func autoreleasepool<Result, Failure: Error>(
    invoking body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    try body()
}
