import Foundation
import KeychainModel

/// Caches the attribute objects of the previous item: in a list most attributes have the same value at the same
/// position, so the immutable objects are reused.
final class AttributeObjectCache {
    private struct Entry {
        let key: AttributeKey
        let keyObject: NSString
        var value: AttributeValue
        var object: NSObject
    }
    private var entries: [Entry] = []

    /// The objects for an attribute's key and value; `place` is its position in the item.
    func objects(
        _ key: AttributeKey,
        _ value: AttributeValue,
        at place: Int
    ) -> (key: NSString, value: NSObject) {
        guard place < entries.count, entries[place].key == key else {
            let entry = Entry(
                key: key,
                keyObject: NSString(string: key.rawValue),
                value: value,
                object: value.object
            )
            if place < entries.count { entries[place] = entry } else { entries.append(entry) }
            return (entry.keyObject, entry.object)
        }
        if entries[place].value != value {
            entries[place].value = value
            entries[place].object = value.object
        }
        return (entries[place].keyObject, entries[place].object)
    }
}
