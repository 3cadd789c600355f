public import CoreFoundation

// What is returned of an item, and what is given of it.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// Whether to return the data.
nonisolated(unsafe) public let kSecReturnData: CFString = "r_Data"
/// Whether to return the attributes.
nonisolated(unsafe) public let kSecReturnAttributes: CFString = "r_Attributes"
/// Whether to return a reference; keys only.
nonisolated(unsafe) public let kSecReturnRef: CFString = "r_Ref"
/// Whether to return the item's name for good.
nonisolated(unsafe) public let kSecReturnPersistentRef: CFString = "r_PersistentRef"
/// The item's secret, `Data`.
nonisolated(unsafe) public let kSecValueData: CFString = "v_Data"
/// The item itself; keys only.
nonisolated(unsafe) public let kSecValueRef: CFString = "v_Ref"
/// The item's name for good, `Data`.
nonisolated(unsafe) public let kSecValuePersistentRef: CFString = "v_PersistentRef"
