import Foundation
import KeychainModel

/// The attributes of the item before: in a list most of them come again in the same place, and the immutable objects
/// that were made of them serve again.
final class AttributeObjectCache {
    private struct Entry {
        let key: AttributeKey
        let keyObject: NSString
        var value: AttributeValue
        var object: NSObject
    }
    private var entries: [Entry] = []

    /// The key and the value of an attribute as apps get them; `place` is how many of its item came before it.
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
