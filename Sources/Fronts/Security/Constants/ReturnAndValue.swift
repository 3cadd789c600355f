public import CoreFoundation

// The values to return for an item, and the values given for it.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// Whether to return the data.
nonisolated(unsafe) public let kSecReturnData: CFString = "r_Data"
/// Whether to return the attributes.
nonisolated(unsafe) public let kSecReturnAttributes: CFString = "r_Attributes"
/// Whether to return a reference; for keys only.
nonisolated(unsafe) public let kSecReturnRef: CFString = "r_Ref"
/// Whether to return the persistent reference.
nonisolated(unsafe) public let kSecReturnPersistentRef: CFString = "r_PersistentRef"
/// The item's secret, `Data`.
nonisolated(unsafe) public let kSecValueData: CFString = "v_Data"
/// The item itself, a reference; for keys only.
nonisolated(unsafe) public let kSecValueRef: CFString = "v_Ref"
/// The persistent reference, `Data`.
nonisolated(unsafe) public let kSecValuePersistentRef: CFString = "v_PersistentRef"
