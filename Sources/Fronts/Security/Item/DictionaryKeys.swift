import Foundation
import KeychainModel

/// The keys of the dictionaries that apps get, but for the attributes' own: made once, since anew for each item they
/// take as long as its values.
enum DictionaryKeys {
    // Immutable.
    nonisolated(unsafe) static let data: NSString = "v_Data"
    nonisolated(unsafe) static let persistentReference: NSString = "v_PersistentRef"
    nonisolated(unsafe) static let reference: NSString = "v_Ref"
    nonisolated(unsafe) static let itemClass: NSString = "class"
    nonisolated(unsafe) static let accessControl: NSString = "accc"
}

extension AttributeKey {
    /// `kSecClass`, which comes among the attributes.
    static let itemClass = AttributeKey(rawValue: "class")
}
