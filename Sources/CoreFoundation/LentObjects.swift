import Foundation
import Synchronization

/// Objects whose addresses were handed out by a container that does not own them.
///
/// Foundation on Linux gives values out of its containers, not the objects in them: `String` for what was put in as
/// `NSString`. An object that stands for such a value is kept here until a container at the same address has
/// another value at the same place, when the earlier address is no longer good on Apple's systems either.
enum LentObjects {
    private struct Place: Hashable {
        let container: ObjectIdentifier
        let key: NSObject
    }

    private struct Kept: @unchecked Sendable {  // only ever reached under the lock
        var objects: [Place: NSObject] = [:]
    }

    private static let kept = Mutex(Kept())

    /// The address of the object that stands for `value`.
    static func address(of value: Any, in container: AnyObject, at key: NSObject) -> UnsafeRawPointer {
        let object = value as AnyObject
        // An object that came out as itself belongs to the container.
        guard !(type(of: value) is AnyClass), let object = object as? NSObject else {
            return UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        }
        let place = Place(container: ObjectIdentifier(container), key: key)
        let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
        nonisolated(unsafe) let fresh = object
        nonisolated(unsafe) let here = place
        let kept = kept.withLock { kept in
            if let same = kept.objects[here], same.isEqual(fresh) {
                return UInt(bitPattern: Unmanaged.passUnretained(same).toOpaque())
            }
            kept.objects[here] = fresh
            return address
        }
        guard let pointer = UnsafeRawPointer(bitPattern: kept) else {
            preconditionFailure("an object has an address")
        }
        return pointer
    }
}
