import Foundation

/// Finds the objects that a container itself retains: as on Apple's systems, a pointer to one is valid as long as
/// the container retains the object, and retains nothing.
///
/// Foundation on Linux returns bridged values from its containers rather than the stored objects: `String` for a
/// stored `NSString`. The containers' mirrors give access to the objects.
enum OwnObjects {
    /// The address of the object that a dictionary retains for a key; nil without such a key.
    static func address(in dictionary: NSDictionary, forKey key: NSObject) -> UnsafeRawPointer? {
        guard let value = dictionary.object(forKey: key) else { return nil }
        for child in Mirror(reflecting: dictionary).children {
            guard let pair = child.value as? (key: NSObject, value: AnyObject) else { break }
            if pair.key.isEqual(key) { return address(of: pair.value) }
        }
        return address(ofForeign: value)
    }

    /// The address of the object that an array retains at an index.
    static func address(in array: NSArray, at index: Int) -> UnsafeRawPointer {
        let value = array.object(at: index)
        let children = Mirror(reflecting: array).children
        guard children.count == array.count else { return address(ofForeign: value) }
        return address(of: children[children.index(children.startIndex, offsetBy: index)].value as AnyObject)
    }

    private static func address(of object: AnyObject) -> UnsafeRawPointer {
        UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }

    // An app's own subclass of a container may not store an object for a value; one is then created and never released.
    // Results of this library do not have such classes.
    private static func address(ofForeign value: Any) -> UnsafeRawPointer {
        let object = value as AnyObject
        return type(of: value) is AnyClass
            ? address(of: object) : UnsafeRawPointer(Unmanaged.passRetained(object).toOpaque())
    }
}
