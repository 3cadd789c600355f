import Foundation
import KeychainModel

/// The keys of the dictionaries that apps get, made once: anew for each item they take as long as its values.
enum DictionaryKeys {
    // Immutable.
    nonisolated(unsafe) static let data: NSString = "v_Data"
    nonisolated(unsafe) static let persistentReference: NSString = "v_PersistentRef"
    nonisolated(unsafe) static let reference: NSString = "v_Ref"
    nonisolated(unsafe) static let itemClass: NSString = "class"
    nonisolated(unsafe) static let accessControl: NSString = "accc"
    nonisolated(unsafe) private static let attributes = Dictionary(
        uniqueKeysWithValues: AttributeTable.names.map {
            (AttributeKey(rawValue: $0), NSString(string: $0))
        }
    )

    /// The key of an attribute.
    static func attribute(_ key: AttributeKey) -> NSString {
        attributes[key] ?? NSString(string: key.rawValue)
    }
}

extension AttributeKey {
    /// `kSecClass`, which comes among the attributes.
    static let itemClass = AttributeKey(rawValue: "class")
}
