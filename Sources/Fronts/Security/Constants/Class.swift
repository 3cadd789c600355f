public import CoreFoundation

// The classes of items.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// An item's class.
nonisolated(unsafe) public let kSecClass: CFString = "class"
/// The class of internet passwords: passwords for a server.
nonisolated(unsafe) public let kSecClassInternetPassword: CFString = "inet"
/// The class of generic passwords: all other passwords.
nonisolated(unsafe) public let kSecClassGenericPassword: CFString = "genp"
/// The class of certificates: none is stored, so that searches find none, and adding one fails with `errSecUnimplemented`.
nonisolated(unsafe) public let kSecClassCertificate: CFString = "cert"
/// The class of keys.
nonisolated(unsafe) public let kSecClassKey: CFString = "keys"
/// The class of identities: none is stored, so that searches find none, and adding one fails with `errSecUnimplemented`.
nonisolated(unsafe) public let kSecClassIdentity: CFString = "idnt"
