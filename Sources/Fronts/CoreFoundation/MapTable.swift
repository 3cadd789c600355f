public import Foundation

/// `NSMapTable`: a dictionary of objects that keeps its keys or its objects alive only where it is told to.
///
/// Keys are compared as `NSObject` compares them, other objects by identity. What nobody else holds any more is gone
/// from a weak table the next time that it is looked for.
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

    /// A table that holds keys and objects.
    open class func strongToStrongObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: true, holdsObjects: true)
    }

    /// A table that holds its objects alone.
    open class func weakToStrongObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: false, holdsObjects: true)
    }

    /// A table that holds its keys alone.
    open class func strongToWeakObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: true, holdsObjects: false)
    }

    /// A table that holds nothing.
    open class func weakToWeakObjects() -> NSMapTable<KeyType, ObjectType> {
        NSMapTable(holdsKeys: false, holdsObjects: false)
    }

    /// How many entries are left.
    open var count: Int { entries.values.reduce(0) { $0 + $1.count { $0.isAlive } } }

    /// The object of a key.
    open func object(forKey aKey: KeyType?) -> ObjectType? {
        guard let aKey else { return nil }
        return entries[Self.hash(aKey)]?.first { Self.isSame($0.key.target, aKey) }?.object.target
    }

    /// Puts an object under a key; nil removes it.
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

    /// Empties the table.
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
