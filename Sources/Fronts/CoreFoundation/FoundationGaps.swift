public import Foundation

// What Apple's Foundation has and the one on Linux has not, as far as keychain code uses it.

/// `OSStatus`: the result of `SecItem` functions.
public typealias OSStatus = Int32
/// `noErr`: success.
public let noErr: OSStatus = 0
/// `NSErrorPointer`: accepts `&error` and nil.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

extension NSMutableDictionary {
    /// Sets a value by key-value coding's name; nil removes it.
    public func setValue(_ value: Any?, forKey key: String) {
        if let value {
            setObject(value, forKey: key as NSString)
        } else {
            removeObject(forKey: key)
        }
    }
}

/// `NSData` lends its bytes: `as Data`, which looks for this, otherwise takes them one by one, a third of a second
/// for a mebibyte.
extension NSData: @retroactive ContiguousBytes {
    /// Lends the bytes for the length of `body`.
    public func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: length == 0 ? nil : bytes, count: length))
    }
}

/// Runs `body`: without Objective-C nothing is ever autoreleased.
public func autoreleasepool<Result, Failure: Error>(
    invoking body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    try body()
}
