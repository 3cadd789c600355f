import Foundation

/// The objects that a container holds itself: a pointer to one is good for as long as the container holds it, as on
/// Apple's systems, and keeps nothing alive.
///
/// Foundation on Linux gives values out of its containers, not the objects in them: `String` for what was put in as
/// `NSString`. Their mirrors give the objects.
enum OwnObjects {
    /// The address of the object that a dictionary holds under a key; nil without such a key.
    static func address(in dictionary: NSDictionary, forKey key: NSObject) -> UnsafeRawPointer? {
        guard let value = dictionary.object(forKey: key) else { return nil }
        for child in Mirror(reflecting: dictionary).children {
            guard let pair = child.value as? (key: NSObject, value: AnyObject) else { break }
            if pair.key.isEqual(key) { return address(of: pair.value) }
        }
        return address(ofForeign: value)
    }

    /// The address of the object that an array holds at an index.
    static func address(in array: NSArray, at index: Int) -> UnsafeRawPointer {
        let value = array.object(at: index)
        let children = Mirror(reflecting: array).children
        guard children.count == array.count else { return address(ofForeign: value) }
        return address(of: children[children.index(children.startIndex, offsetBy: index)].value as AnyObject)
    }

    private static func address(of object: AnyObject) -> UnsafeRawPointer {
        UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }

    // An app's own subclass of a container need not hold an object for a value: where it has none, one is made for it, which
    // stays. Results are not of such classes.
    private static func address(ofForeign value: Any) -> UnsafeRawPointer {
        let object = value as AnyObject
        return type(of: value) is AnyClass
            ? address(of: object) : UnsafeRawPointer(Unmanaged.passRetained(object).toOpaque())
    }
}
