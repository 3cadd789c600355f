public import Foundation

/// `NSMapTable`: a dictionary of objects with strong or weak references to its keys and objects.
///
/// Keys are compared with `isEqual(_:)` if they are `NSObject`, otherwise by identity. An entry with a released weak
/// reference is no longer found or counted.
open class NSMapTable<KeyType: AnyObject, ObjectType: AnyObject>: NSObject {
    private struct Entry {
        let key: Reference<KeyType>
        let object: Reference<ObjectType>

        var isAlive: Bool { key.target != nil && object.target != nil }
    }

    private let holdsKeys: Bool
    private let holdsObjects: Bool
    private var entries: [Int: [Entry]] = [:]

    private init(holdsKeys: Bool, holdsObjects: Bool) {
        self.holdsKeys = holdsKeys
        self.holdsObjects = holdsObjects
    }

    /// A table with strong references to keys and objects.
    open class func strongToStrongObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: true, holdsObjects: true)
    }

    /// A table with weak references to keys and strong references to objects.
    open class func weakToStrongObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: false, holdsObjects: true)
    }

    /// A table with strong references to keys and weak references to objects.
    open class func strongToWeakObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: true, holdsObjects: false)
    }

    /// A table with weak references to keys and objects.
    open class func weakToWeakObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: false, holdsObjects: false)
    }

    /// The number of entries that still exist.
    open var count: Int { entries.values.reduce(0) { $0 + $1.count { $0.isAlive } } }

    /// The object for a key.
    open func object(forKey aKey: KeyType?) -> ObjectType? {
        guard let aKey else { return nil }
        return entries[Self.hash(aKey)]?.first { Self.isSame($0.key.target, aKey) }?.object.target
    }

    /// Sets the object for a key; nil removes it.
    open func setObject(_ anObject: ObjectType?, forKey aKey: KeyType?) {
        guard let aKey else { return }
        removeObject(forKey: aKey)
        guard let anObject else { return }
        let entry = Entry(
            key: Reference(aKey, isHeld: holdsKeys),
            object: Reference(anObject, isHeld: holdsObjects)
        )
        entries[Self.hash(aKey), default: []].append(entry)
    }

    /// Removes a key and its object.
    open func removeObject(forKey aKey: KeyType?) {
        guard let aKey else { return }
        let rest = entries[Self.hash(aKey)]?.filter { $0.isAlive && !Self.isSame($0.key.target, aKey) } ?? []
        entries[Self.hash(aKey)] = rest.isEmpty ? nil : rest
    }

    /// Removes all entries.
    open func removeAllObjects() { entries = [:] }

    private static func hash(_ key: KeyType) -> Int {
        (key as? NSObject)?.hash ?? ObjectIdentifier(key).hashValue
    }

    private static func isSame(_ one: KeyType?, _ other: KeyType) -> Bool {
        if one === other { return true }
        return (one as? NSObject)?.isEqual(other) ?? false
    }
}

private final class Reference<Target: AnyObject> {
    private let held: Target?
    private(set) weak var target: Target?

    init(_ target: Target, isHeld: Bool) {
        self.target = target
        held = isHeld ? target : nil
    }
}
