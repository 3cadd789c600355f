import Foundation
import KeychainModel

/// The keys of returned dictionaries, except those of attributes; created once, because creating them for each item
/// takes as long as the values.
enum DictionaryKeys {
    // Immutable.
    nonisolated(unsafe) static let data: NSString = "v_Data"
    nonisolated(unsafe) static let persistentReference: NSString = "v_PersistentRef"
    nonisolated(unsafe) static let reference: NSString = "v_Ref"
    nonisolated(unsafe) static let itemClass: NSString = "class"
    nonisolated(unsafe) static let accessControl: NSString = "accc"
}

extension AttributeKey {
    /// `kSecClass`, which is returned among the attributes.
    static let itemClass = AttributeKey(rawValue: "class")
}
