public import CoreFoundation

// The values of `kSecAttrAccessible`.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// Accessible while the keybag is unlocked; the default.
nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
/// Accessible after the first unlock.
nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
/// Deprecated: treated as accessible after the first unlock.
nonisolated(unsafe) public let kSecAttrAccessibleAlways: CFString = "dk"
/// Accessible while the keybag is unlocked; deleted when the passcode is removed, and not exported.
nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
/// Accessible while the keybag is unlocked; not exported.
nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
/// Accessible after the first unlock; not exported.
nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
/// Deprecated: treated as accessible after the first unlock; not exported.
nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
